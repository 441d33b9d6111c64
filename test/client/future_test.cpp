// SPDX-License-Identifier: Apache-2.0
#include "client/future.hpp"

#include "test/catch.hpp"

#include <thread>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

TEST_CASE("A future that runs out of time can be asked again", "[client][future]") {
  auto state = std::make_shared<FutureState<int>>("optim_step");
  auto future = Future<int>{state};
  auto early = future.get(1ms);
  REQUIRE_FALSE(early.has_value());
  CHECK(early.error().code == Errc::timeout);
  CHECK(early.error().message.find("optim_step") != std::string::npos);
  CHECK_FALSE(future.ready());
  state->set(7);
  CHECK(future.ready());
  CHECK(future.get(1ms).value() == 7);
  CHECK(future.get().value() == 7);
}

TEST_CASE("Only the first answer of a future counts", "[client][future]") {
  FutureState<int> state{"sample"};
  state.set(1);
  state.set(fail(Errc::cancelled, "too late"));
  CHECK(state.get().value() == 1);
}

TEST_CASE("A future wakes all who wait for it", "[client][future]") {
  auto state = std::make_shared<FutureState<int>>("sample");
  std::vector<int> seen(4);
  std::vector<std::thread> threads;
  for (auto& place : seen)
    threads.emplace_back([&place, future = Future<int>{state}] { place = future.get().value(); });
  state->set(5);
  for (auto& thread : threads)
    thread.join();
  CHECK(seen == std::vector<int>(4, 5));
}

TEST_CASE("A future that is given up is answered, and tells those at work once",
          "[client][future][cancel]") {
  auto state = std::make_shared<FutureState<int>>("sample");
  int told = 0;
  state->on_cancel([&told] { ++told; });
  auto future = Future<int>{state};
  future.cancel();
  future.cancel();
  state->set(7);
  CHECK(told == 1);
  auto result = future.get();
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == Errc::cancelled);

  auto done = std::make_shared<FutureState<int>>("sample");
  done->on_cancel([&told] { ++told; });
  done->set(7);
  Future<int>{done}.cancel();
  CHECK(told == 1);
  CHECK(Future<int>{done}.get().value() == 7);
}

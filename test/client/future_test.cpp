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

TEST_CASE("A wait that is over says how far the call is, and can be repeated", "[client][future]") {
  auto state = std::make_shared<FutureState<int>>("optim_step");
  state->on_status([&] {
    state->tell(
        {{{"req-7", RequestType::optim_step, QueueState::paused_capacity, "GPUs are out"}}});
  });
  auto future = Future<int>{state};
  for (int i = 0; i < 2; ++i) {
    auto early = future.get(1ms);
    REQUIRE_FALSE(early.has_value());
    CHECK(early.error().code == Errc::timeout);
    CHECK(early.error().request_id == "req-7");
    for (const auto* part : {"optim_step", " ms after", "paused_capacity (GPUs are out)"})
      CHECK(early.error().message.find(part) != std::string::npos);
  }
  state->set(7);
  CHECK(future.get(1ms).value() == 7);
}

TEST_CASE("A wait that is over says that the service has not accepted the call",
          "[client][future]") {
  auto state = std::make_shared<FutureState<int>>("sample");
  state->on_status([&] { state->tell({}); });
  auto early = state->get(1ms);
  REQUIRE_FALSE(early.has_value());
  CHECK(early.error().request_id.empty());
  CHECK(early.error().message.find("has not accepted it yet") != std::string::npos);
}

TEST_CASE("An answer that comes while a wait looks for what to say is the answer",
          "[client][future]") {
  auto state = std::make_shared<FutureState<int>>("sample");
  state->on_status([&] { state->set(3); });
  CHECK(state->get(1ms).value() == 3);
}

TEST_CASE("A wait without a limit tells again and again what it waits for", "[client][future]") {
  std::vector<Notice> notices;
  std::shared_ptr<FutureState<int>> state;
  auto sink = [&](const Notice& notice) {
    notices.push_back(notice);
    if (notices.size() == 2)
      state->set(9);
  };
  state = std::make_shared<FutureState<int>>("optim_step", sink, 1ms);
  state->on_status([&] {
    state->tell({{{"req-7", RequestType::optim_step, QueueState::paused_rate_limit, "busy"}}});
  });
  CHECK(state->get().value() == 9);
  REQUIRE(notices.size() == 2);
  CHECK(notices[0].severity == Severity::warning);
  for (const auto* part : {"optim_step", "paused_rate_limit (busy)", "req-7"})
    CHECK(notices[0].text.find(part) != std::string::npos);
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

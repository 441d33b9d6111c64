// SPDX-License-Identifier: Apache-2.0
#include "actors/loss_threads.hpp"

#include "test/catch.hpp"

#include <atomic>
#include <future>
#include <memory>

using namespace std::chrono_literals;
using namespace tinkaf;

TEST_CASE("Losses run side by side, and their end is waited for", "[actors][loss_threads]") {
  std::promise<void> second_runs;
  std::atomic<int> ended = 0;
  {
    auto threads = make_loss_threads(1h);
    REQUIRE(threads
                ->run([&] {
                  second_runs.get_future().wait();
                  ++ended;
                })
                .has_value());
    REQUIRE(threads
                ->run([&] {
                  second_runs.set_value();
                  ++ended;
                })
                .has_value());
  }
  CHECK(ended == 2);
}

TEST_CASE("What a loss refers to is gone when its end is told", "[actors][loss_threads]") {
  auto data = std::make_shared<int>(7);
  std::weak_ptr<int> seen = data;
  {
    auto threads = make_loss_threads(1h);
    REQUIRE(threads->run([data = std::move(data)] { (void)*data; }).has_value());
  }
  CHECK(seen.expired());
}

TEST_CASE("A loss that does not heed its stop is left to itself", "[actors][loss_threads]") {
  auto release = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<void>>();
  {
    auto threads = make_loss_threads(10ms);
    REQUIRE(threads
                ->run([released = release->get_future().share(), ended] {
                  released.wait();
                  ended->set_value();
                })
                .has_value());
  }
  release->set_value();
  CHECK(ended->get_future().wait_for(60s) == std::future_status::ready);
}

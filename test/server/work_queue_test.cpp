// SPDX-License-Identifier: Apache-2.0
#include "server/work_queue.hpp"

#include "test/catch.hpp"

#include <future>
#include <string>

using tinkaf::server::WorkQueue;

TEST_CASE("Lanes take turns, each in its own order", "[server][work]") {
  WorkQueue queue{1};
  std::promise<void> gate;
  std::promise<void> done;
  std::string order;
  queue.post("gate", [&](const std::stop_token&) { gate.get_future().wait(); });
  for (const char* name : {"a1", "a2", "a3", "b1", "b2"})
    queue.post({name[0]}, [&order, name](const std::stop_token&) { order += name; });
  queue.post("b", [&](const std::stop_token&) { done.set_value(); });
  gate.set_value();
  done.get_future().wait();
  CHECK(order == "a1b1a2b2a3");
}

TEST_CASE("A stop reaches what runs and drops the rest", "[server][work]") {
  WorkQueue queue{1};
  std::promise<void> begun;
  bool stopped = false;
  bool dropped = true;
  queue.post("a", [&](const std::stop_token& stop) {
    begun.set_value();
    std::promise<void> asked;
    const std::stop_callback on_stop{stop, [&] { asked.set_value(); }};
    asked.get_future().wait();
    stopped = true;
  });
  queue.post("a", [&](const std::stop_token&) { dropped = false; });
  begun.get_future().wait();
  queue.stop();
  queue.post("a", [&](const std::stop_token&) { dropped = false; });
  CHECK(stopped);
  CHECK(dropped);
}

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/courier.hpp"
#include "messages/interfaces.hpp"
#include "test/catch.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scheduler/test_coordinator.hpp>
#include <caf/send.hpp>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace tinkaf::test {

/// What an actor has answered, once it has.
template <class T>
using Answer = std::shared_ptr<std::optional<Result<T>>>;

/// Runs actors one message at a time, on a clock that the test moves.
///
/// The one place that depends on CAF's own test scheduler.
class ActorFixture {
public:
  ActorFixture() {
    scheduler_.clock().current_time += std::chrono::hours{1};
  }

  /// Ends every actor that was spawned or has asked.
  ~ActorFixture() {
    for (auto& actor : roots_)
      caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
    roots_.clear();
    run();
  }

  ActorFixture(const ActorFixture&) = delete;
  ActorFixture& operator=(const ActorFixture&) = delete;

  /// Spawns an actor that ends with the test.
  template <class Function, class... Args>
  auto spawn(Function function, Args&&... args) {
    auto actor = system_.spawn(function, std::forward<Args>(args)...);
    roots_.push_back(caf::actor_cast<caf::actor>(actor));
    return actor;
  }

  /// An actor that does nothing but ask.
  caf::actor make_asker() {
    return spawn(courier);
  }

  /// Asks in the name of `asker`, without running anything.
  template <class T, class Handle, class... Args>
  Answer<T> ask_as(const caf::actor& asker, const Handle& whom, Args... args) {
    auto answer = std::make_shared<std::optional<Result<T>>>();
    CourierTask task = [=](caf::event_based_actor* self) {
      self->request(whom, caf::infinite, args...)
          .then(
              [answer](T& value) {
                CHECK_FALSE(answer->has_value());
                answer->emplace(std::move(value));
              },
              [answer](const caf::error& error) {
                CHECK_FALSE(answer->has_value());
                answer->emplace(fail(from_caf(error)));
              });
    };
    caf::anon_send(asker, std::move(task));
    return answer;
  }

  template <class T, class Handle, class... Args>
  Answer<T> ask(const Handle& whom, Args... args) {
    return ask_as<T>(asker_, whom, std::move(args)...);
  }

  /// Sends a message in the name of `asker`, without running anything.
  template <class Handle, class... Args>
  void tell_as(const caf::actor& asker, const Handle& whom, Args... args) {
    CourierTask task = [=](caf::event_based_actor* self) { self->send(whom, args...); };
    caf::anon_send(asker, std::move(task));
  }

  /// The one who asks by `ask`.
  [[nodiscard]] const caf::actor& asker() const noexcept {
    return asker_;
  }

  /// Runs all that is ready; the clock stands still.
  void run() {
    while (scheduler_.try_run_once()) {
    }
  }

  /// Runs one message; false if none is ready.
  bool run_one() {
    return scheduler_.try_run_once();
  }

  /// Moves the clock and runs what becomes ready.
  void pass(std::chrono::milliseconds time) {
    scheduler_.advance_time(time);
    run();
  }

  void kill(const caf::actor& actor) {
    caf::anon_send_exit(actor, caf::exit_reason::kill);
    run();
  }

  [[nodiscard]] std::chrono::steady_clock::time_point now() {
    return scheduler_.clock().now();
  }

private:
  static caf::actor_system_config& configured(caf::actor_system_config& config) {
    config.set("scheduler.policy", caf::atom("testing"));
    return config;
  }

  caf::actor_system_config config_;
  caf::actor_system system_{configured(config_)};
  caf::scheduler::test_coordinator& scheduler_
      = dynamic_cast<caf::scheduler::test_coordinator&>(system_.scheduler());
  std::vector<caf::actor> roots_;
  caf::actor asker_ = make_asker();
};

} // namespace tinkaf::test

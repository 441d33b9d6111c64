// SPDX-License-Identifier: Apache-2.0
#include "actors/front.hpp"
#include "test/actors/actor_fixture.hpp"
#include "test/actors/insides.hpp"

#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

/// Echoes in the name of the n-th instance; throws when it is told to.
struct FrontFixture : test::ActorFixture {
  caf::actor start(RestartPolicy policy = {.max_restarts = 2,
                                           .window = std::chrono::minutes{1},
                                           .first_delay = 100ms,
                                           .max_delay = 1s}) {
    auto address = spawn(
        front, Starter{[this](caf::event_based_actor* parent) {
          return parent->spawn([this](caf::event_based_actor* self) -> caf::behavior {
            auto number = ++instances;
            return {
                [number](const std::string& text) { return text + " " + std::to_string(number); },
                [this](atom::setup, const std::string& text) { setups.push_back(text); },
                [self](atom::stop) { self->quit(); },
            };
          });
        }},
        policy, SessionActor{});
    run();
    return address;
  }

  test::Answer<std::string> say(const caf::actor& whom, const std::string& text) {
    return ask<std::string>(whom, text);
  }

  /// Breaks who stands behind a front.
  void break_behind(const caf::actor& whom) {
    kill(test::behind(whom));
  }

  int instances = 0;
  std::vector<std::string> setups;
};

} // namespace

TEST_CASE_METHOD(FrontFixture,
                 "Messages that arrive during the pause before a restart wait, and go on in their "
                 "order",
                 "[actors][supervision][front]") {
  auto address = start();
  auto before = say(address, "one");
  run();
  CHECK((*before)->value() == "one 1");
  break_behind(address);
  auto first = say(address, "two");
  auto second = say(address, "three");
  run();
  CHECK_FALSE(first->has_value());
  CHECK_FALSE(second->has_value());
  CHECK(test::state_of<FrontState>(address).waiting.size() == 2);
  pass(99ms);
  CHECK_FALSE(first->has_value());
  pass(1ms);
  REQUIRE(first->has_value());
  REQUIRE(second->has_value());
  CHECK((*first)->value() == "two 2");
  CHECK((*second)->value() == "three 2");
  CHECK(test::state_of<FrontState>(address).waiting.empty());
}

TEST_CASE_METHOD(FrontFixture, "Those that wait at a front are answered when it ends",
                 "[actors][supervision][front]") {
  auto address = start();
  break_behind(address);
  auto waits = say(address, "waits");
  run();
  CHECK_FALSE(waits->has_value());
  caf::anon_send_exit(address, caf::exit_reason::user_shutdown);
  run();
  REQUIRE(waits->has_value());
  CHECK_FALSE((*waits)->has_value());
}

TEST_CASE_METHOD(FrontFixture, "What every instance is to know is told before what has waited",
                 "[actors][supervision][front]") {
  auto address = start();
  tell_as(asker(), address, atom::setup_v, caf::make_message(atom::setup_v, std::string{"known"}));
  run();
  CHECK(setups == std::vector<std::string>{"known"});
  break_behind(address);
  tell_as(asker(), address, atom::setup_v, caf::make_message(atom::setup_v, std::string{"also"}));
  run();
  CHECK(setups.size() == 1);
  pass(100ms);
  CHECK(setups == std::vector<std::string>{"known", "known", "also"});
}

TEST_CASE_METHOD(FrontFixture, "An actor that ends in order takes its front with it",
                 "[actors][supervision][front]") {
  auto address = start();
  tell_as(asker(), address, atom::stop_v);
  run();
  auto late = say(address, "late");
  run();
  REQUIRE(late->has_value());
  CHECK_FALSE((*late)->has_value());
  CHECK(instances == 1);
}

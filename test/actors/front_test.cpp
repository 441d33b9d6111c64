// SPDX-License-Identifier: Apache-2.0
#include "actors/front.hpp"

#include "actors/ask_again.hpp"
#include "actors/owed.hpp"
#include "test/actors/actor_fixture.hpp"
#include "test/actors/insides.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

constexpr auto pause = 10ms;

/// Owes all that it is asked for, and takes its time between breaking that and closing its mailbox,
/// as one does that ends on a thread of its own.
struct SlowEnd {
  using SelfPointer = caf::stateful_actor<SlowEnd>*;

  explicit SlowEnd(SelfPointer ptr) : self(ptr) {}

  ~SlowEnd() {
    owed.reset();
    if (meanwhile)
      meanwhile();
  }

  SlowEnd(const SlowEnd&) = delete;
  SlowEnd& operator=(const SlowEnd&) = delete;

  SelfPointer self;
  std::optional<Owed<bool>> owed;
  std::function<void()> meanwhile;
};

caf::behavior slow_end(SlowEnd::SelfPointer self, std::function<void()> meanwhile) {
  self->state.meanwhile = std::move(meanwhile);
  return {
      [self](atom::open) {
        self->state.owed = owe<bool>(self);
        return self->state.owed->promise();
      },
      [self](atom::close) { self->state.owed->deliver(true); },
  };
}

} // namespace

TEST_CASE_METHOD(test::ActorFixture,
                 "A question is asked once for each breakage, also by one who hears of it before "
                 "the mailbox is closed",
                 "[actors][supervision]") {
  const auto starter = [this](caf::event_based_actor* parent) {
    return caf::actor{parent->spawn(slow_end, std::function<void()>{[this] { run(); }})};
  };
  const auto who
      = spawn(front, Starter{starter},
              RestartPolicy{.max_restarts = max_repeats, .first_delay = pause}, SessionActor{});
  auto outcome = std::optional<caf::error>{};
  CourierTask ask = [&](caf::event_based_actor* self) {
    ask_supervised(
        self, who, [&](bool) { outcome.emplace(); },
        [&](const caf::error& error) { outcome.emplace(error); }, atom::open_v);
  };
  caf::anon_send(asker(), std::move(ask));
  run();
  for (std::uint32_t breakages = 0; breakages < max_repeats; ++breakages) {
    kill(test::behind(who));
    REQUIRE_FALSE(outcome.has_value());
    pass(10s);
  }
  caf::anon_send(test::behind(who), atom::close_v);
  run();
  REQUIRE(outcome.has_value());
  CHECK_FALSE(*outcome);
}

TEST_CASE_METHOD(test::ActorFixture,
                 "Whoever asks while the last instance breaks is told that it is given up",
                 "[actors][supervision][front]") {
  auto who = caf::actor{};
  auto waits = test::Answer<bool>{};
  const auto starter = [&](caf::event_based_actor* parent) {
    return caf::actor{parent->spawn(slow_end, std::function<void()>{[&] {
                                      waits = ask<bool>(who, atom::open_v);
                                      run();
                                      CHECK_FALSE(waits->has_value());
                                    }})};
  };
  who = spawn(front, Starter{starter}, RestartPolicy{.max_restarts = 0}, SessionActor{});
  run();
  kill(test::behind(who));
  REQUIRE(waits);
  REQUIRE(waits->has_value());
  CHECK((*waits)->error().code == Errc::gave_up);
  const auto late = ask<bool>(who, atom::open_v);
  run();
  REQUIRE(late->has_value());
  CHECK_FALSE((*late)->has_value());
}

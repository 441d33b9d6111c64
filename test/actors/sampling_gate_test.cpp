// SPDX-License-Identifier: Apache-2.0
#include "actors/sampling_gate.hpp"

#include "test/actors/actor_fixture.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

using Grant = test::Answer<std::uint64_t>;

struct Fixture : test::ActorFixture {
  void open(SamplingGateSettings settings) {
    gate = spawn(sampling_gate, settings);
  }

  Grant acquire(std::int64_t bytes = 1) {
    return acquire_as(asker(), bytes);
  }

  Grant acquire_as(const caf::actor& holder, std::int64_t bytes = 1) {
    auto answer = ask_as<std::uint64_t>(holder, gate, atom::acquire_v, bytes);
    run();
    return answer;
  }

  test::Answer<bool> refuse(const Grant& grant, std::chrono::milliseconds asked = 0ms) {
    auto answer = ask<bool>(gate, atom::back_off_v, grant->value().value(), caf::timespan{asked});
    run();
    return answer;
  }

  void release(const Grant& grant) {
    caf::anon_send(gate, atom::release_v, grant->value().value());
    run();
  }

  SamplingGateActor gate;
};

SamplingGateSettings punctual() {
  return {.jitter = 0.0};
}

} // namespace

TEST_CASE_METHOD(Fixture, "So many submissions are under way and no more", "[actors][gate]") {
  auto settings = punctual();
  settings.max_submissions = 2;
  open(settings);
  auto a = acquire();
  auto b = acquire();
  auto c = acquire();
  CHECK(b->has_value());
  CHECK_FALSE(c->has_value());
  release(a);
  CHECK(c->has_value());
}

TEST_CASE_METHOD(Fixture, "So many bytes are on their way, with one that overdraws them",
                 "[actors][gate]") {
  auto settings = punctual();
  settings.bytes = 100;
  open(settings);
  auto a = acquire(1'000);
  auto b = acquire(1);
  CHECK(a->has_value());
  CHECK_FALSE(b->has_value());
  release(a);
  CHECK(b->has_value());
  caf::anon_send(gate, atom::resize_v, std::int64_t{0});
  run();
  auto c = acquire(1);
  CHECK_FALSE(c->has_value()); // one byte in debt
  release(b);
  CHECK(c->has_value());
}

TEST_CASE_METHOD(Fixture, "A refusal holds everybody back for a second, a large one for five",
                 "[actors][gate]") {
  open(punctual());
  auto large = GENERATE(false, true);
  auto wait = large ? 5'000ms : 1'000ms;
  auto first = acquire(large ? 131'073 : 131'072);
  auto again = refuse(first);
  auto other = acquire();
  CHECK_FALSE(again->has_value());
  pass(wait - 1ms);
  CHECK_FALSE(again->has_value());
  CHECK_FALSE(other->has_value());
  pass(1ms);
  CHECK(again->has_value());
  CHECK(other->has_value());
}

TEST_CASE_METHOD(Fixture, "A longer wait that the service asks for is kept, up to a minute",
                 "[actors][gate]") {
  open(punctual());
  auto first = acquire();
  auto again = refuse(first, 7s);
  pass(6'999ms);
  CHECK_FALSE(again->has_value());
  pass(1ms);
  CHECK(again->has_value());
  auto once_more = refuse(first, 24h);
  pass(60s);
  CHECK(once_more->has_value());
}

TEST_CASE_METHOD(Fixture, "A second refusal moves the end of the wait", "[actors][gate]") {
  open(punctual());
  auto first = acquire();
  auto second = acquire();
  auto again = refuse(first);
  pass(500ms);
  refuse(second);
  pass(500ms);
  CHECK_FALSE(again->has_value());
  pass(500ms);
  CHECK(again->has_value());
}

TEST_CASE_METHOD(Fixture, "Nobody goes on before the end of the wait, and not all at once",
                 "[actors][gate]") {
  open({.max_throttled = 100});
  auto first = acquire();
  refuse(first);
  std::vector<Grant> others;
  for (int i = 0; i < 50; ++i)
    others.push_back(acquire());
  auto passed = [&] {
    return std::count_if(others.begin(), others.end(), [](auto& x) { return x->has_value(); });
  };
  pass(1s);
  CHECK(passed() == 0);
  std::size_t steps = 0;
  for (auto before = passed(); passed() < 50; before = passed()) {
    pass(5ms);
    steps += passed() > before ? 1 : 0;
    REQUIRE(steps < 51);
  }
  CHECK(steps > 5);
}

TEST_CASE_METHOD(Fixture, "Shortly after a refusal few pass, and each counts twenty times",
                 "[actors][gate]") {
  auto settings = punctual();
  settings.max_throttled = 2;
  settings.bytes = 39;
  open(settings);
  auto first = acquire();
  refuse(first);
  release(first);
  pass(1s);
  auto a = acquire(1);
  auto b = acquire(1);
  CHECK(b->has_value()); // 20 of 39 were taken
  release(a);
  auto c = acquire(1);
  CHECK(c->has_value());
  auto d = acquire(1);
  CHECK_FALSE(d->has_value()); // for the bytes
  release(b);
  CHECK(d->has_value());
  caf::anon_send(gate, atom::resize_v, std::int64_t{1'000});
  auto e = acquire(1);
  CHECK_FALSE(e->has_value()); // for the number
  pass(9'999ms - 1s);
  CHECK_FALSE(e->has_value());
  pass(2s);
  CHECK(e->has_value()); // caution is over, although nobody gave anything back
}

TEST_CASE_METHOD(Fixture, "What a killed client held or waited for goes to others",
                 "[actors][gate]") {
  auto settings = punctual();
  settings.max_submissions = 1;
  open(settings);
  auto holder = make_asker();
  auto waiter = make_asker();
  acquire_as(holder, 1'000'000'000);
  acquire_as(waiter, 1'000'000'000);
  auto last = acquire();
  kill(waiter);
  CHECK_FALSE(last->has_value());
  kill(holder);
  CHECK(last->has_value());
}

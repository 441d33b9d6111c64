// SPDX-License-Identifier: Apache-2.0
#include "actors/byte_budget.hpp"

#include "test/actors/actor_fixture.hpp"

using namespace tinkaf;

namespace {

struct Fixture : test::ActorFixture {
  test::Answer<std::uint64_t> acquire(const caf::actor& asker, std::int64_t bytes) {
    auto answer = ask_as<std::uint64_t>(asker, budget, atom::acquire_v, bytes);
    run();
    return answer;
  }

  void release(const test::Answer<std::uint64_t>& grant) {
    caf::anon_send(budget, atom::release_v, grant->value().value());
    run();
  }

  ByteBudgetActor budget = spawn(byte_budget, 100);
  caf::actor first = make_asker();
  caf::actor second = make_asker();
};

} // namespace

TEST_CASE_METHOD(Fixture, "Bytes are lent until the balance is negative, then in turn",
                 "[actors][byte-budget]") {
  auto a = acquire(first, 100);
  CHECK(a->has_value());
  auto b = acquire(first, 1'000); // the balance of 0 lets one pass, however large
  CHECK(b->has_value());
  auto c = acquire(second, 1);
  auto d = acquire(second, 1);
  CHECK_FALSE(c->has_value());
  release(a);
  CHECK_FALSE(c->has_value()); // still 900 in debt
  release(b);
  REQUIRE(c->has_value());
  CHECK(d->has_value());
  CHECK((*c)->value() != (*d)->value());
}

TEST_CASE_METHOD(Fixture, "A grant given back twice counts once", "[actors][byte-budget]") {
  auto a = acquire(first, 150);
  release(a);
  release(a);
  CHECK(acquire(first, 150)->has_value());
  CHECK_FALSE(acquire(first, 1)->has_value());
}

TEST_CASE_METHOD(Fixture, "What a killed holder had comes back", "[actors][byte-budget]") {
  acquire(first, 90);
  acquire(first, 90);
  auto waiting = acquire(second, 10);
  CHECK_FALSE(waiting->has_value());
  kill(first);
  CHECK(waiting->has_value());
}

TEST_CASE_METHOD(Fixture, "One who died waiting is passed over and charged nothing",
                 "[actors][byte-budget]") {
  auto holder = make_asker();
  auto held = acquire(holder, 101);
  acquire(first, 1'000'000);
  auto last = acquire(second, 5);
  kill(first);
  CHECK_FALSE(last->has_value());
  release(held);
  CHECK(last->has_value());
  CHECK(acquire(second, 95)->has_value()); // nothing of the million is missing
  CHECK(acquire(second, 1)->has_value());
}

TEST_CASE_METHOD(Fixture, "A negative number takes nothing, and the total can grow",
                 "[actors][byte-budget]") {
  CHECK(acquire(first, -1'000)->has_value());
  CHECK(acquire(first, 101)->has_value());
  auto waiting = acquire(second, 1);
  CHECK_FALSE(waiting->has_value());
  caf::anon_send(budget, atom::resize_v, std::int64_t{101});
  run();
  CHECK(waiting->has_value());
}

// SPDX-License-Identifier: Apache-2.0
#include "engine/check.hpp"

#include "test/catch.hpp"
#include "test/engine/engine_data.hpp"

#include <cmath>
#include <string>

using namespace tinkaf;
using namespace std::chrono_literals;
using test::batch_of;

namespace {

const TrainOp good{.datums = batch_of({4}), .loss = CrossEntropy{}};
const SnapshotOp snapshot{.name = "a", .ttl = {}, .eval = {}};

/// What is said of an operation that stands behind a good one.
std::string error_of(const Op& op) {
  auto checked = check_ops({good, op});
  REQUIRE_FALSE(checked.has_value());
  CHECK(checked.error().code == Errc::invalid_argument);
  return checked.error().message;
}

template <class T, class Change>
T changed(T op, Change change) {
  change(op);
  return op;
}

} // namespace

TEST_CASE("A good schedule passes", "[engine][check]") {
  auto custom = changed(good, [](TrainOp& op) { op.loss = test::raise_all(); });
  auto scored = changed(snapshot, [](SnapshotOp& op) {
    op.name = "b";
    op.ttl = 3600s;
    op.eval = batch_of({3});
  });
  CHECK(check_schedule({good, custom, ScoreOp{batch_of({2})}, snapshot, scored}).has_value());
}

TEST_CASE("An empty schedule is nothing to do, but not what anyone asks for", "[engine][check]") {
  CHECK(check_ops({}).has_value());
  auto valid = check_schedule({});
  REQUIRE_FALSE(valid.has_value());
  CHECK(valid.error().message.find("schedule is empty") != std::string::npos);
}

TEST_CASE("An operation without datums is named", "[engine][check][errors]") {
  const auto* expected = "schedule[1].datums is empty, but must have at least one datum";
  CHECK(error_of(ScoreOp{}) == expected);
  CHECK(error_of(ScoreOp{make_batch({})}) == expected);
  CHECK(error_of(changed(good, [](TrainOp& op) { op.datums = make_batch({}); })) == expected);
  CHECK(error_of(changed(good,
                         [](TrainOp& op) {
                           op.datums = {};
                           op.loss = test::raise_all();
                         }))
        == expected);
}

TEST_CASE("A bad datum is named with its operation", "[engine][check][errors]") {
  auto data = std::vector<Datum>{test::datum_of(2), test::datum_of(2)};
  data[1].loss_fn_inputs.erase("target_tokens");
  auto without_targets = make_batch(data);
  CHECK(error_of(ScoreOp{without_targets})
            .find("schedule[1].datums: data[1].loss_fn_inputs.target_tokens")
        == 0);
  CHECK(error_of(changed(snapshot, [&](SnapshotOp& op) { op.eval = without_targets; }))
            .find("schedule[1].eval: data[1]")
        == 0);
  data[1] = test::datum_of(2);
  data[1].loss_fn_inputs.emplace("advantages", TensorData::of(std::vector<float>{1, 1}));
  auto error = error_of(changed(good, [&](TrainOp& op) {
    op.datums = make_batch(data);
    op.loss = test::raise_all();
  }));
  CHECK(error.find("data[1].loss_fn_inputs.advantages") != std::string::npos);
}

TEST_CASE("A learning rate that cannot be is named", "[engine][check][errors]") {
  for (auto lr : {-1e-4, std::nan(""), static_cast<double>(INFINITY)}) {
    auto error = error_of(changed(good, [&](TrainOp& op) { op.lr = lr; }));
    INFO(error);
    CHECK(error.find("schedule[1].lr") == 0);
  }
}

TEST_CASE("A custom loss without a function is named", "[engine][check][errors]") {
  CHECK(error_of(changed(good, [](TrainOp& op) { op.loss = Custom{}; }))
        == "schedule[1].loss.fn is missing, but a custom loss needs its function");
}

TEST_CASE("A snapshot's name is there, without slashes, and new", "[engine][check][errors]") {
  CHECK(error_of(changed(snapshot, [](SnapshotOp& op) { op.name = ""; })).find("schedule[1].name")
        == 0);
  CHECK(error_of(changed(snapshot, [](SnapshotOp& op) { op.name = "a/b"; })).find("`a/b`")
        != std::string::npos);
  CHECK(error_of(changed(snapshot, [](SnapshotOp& op) { op.ttl = 0s; })).find("schedule[1].ttl")
        == 0);
  auto twice = check_ops({snapshot, good, snapshot});
  REQUIRE_FALSE(twice.has_value());
  CHECK(twice.error().message.find("schedule[2].name is `a`, which schedule[0] has taken") == 0);
}

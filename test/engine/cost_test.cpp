// SPDX-License-Identifier: Apache-2.0
#include "engine/cost.hpp"

#include "test/catch.hpp"
#include "test/engine/engine_data.hpp"

using namespace tinkaf;
using test::batch_of;

namespace {

/// Ten tokens of each loss, ten to score, four behind a snapshot, and a bare snapshot.
Schedule mixed() {
  return {TrainOp{.datums = batch_of({10}), .loss = CrossEntropy{}},
          TrainOp{.datums = batch_of({10}), .loss = test::raise_all()}, ScoreOp{batch_of({5, 5})},
          SnapshotOp{.name = "a", .ttl = {}, .eval = batch_of({4})},
          SnapshotOp{.name = "b", .ttl = {}, .eval = {}}};
}

} // namespace

TEST_CASE("The tokens of a batch are those of its model inputs", "[engine][cost]") {
  auto data = std::vector<Datum>{test::datum_of(3), test::datum_of(7)};
  CHECK(token_count(data) == 10);
  CHECK(token_count({}) == 0);
  data[0].model_input.chunks.emplace_back(ImageChunk{.data = "x", .expected_tokens = 5});
  CHECK(token_count(data) == 15);
}

TEST_CASE("Tokens that nobody knows are an error that names the datum", "[engine][cost][errors]") {
  auto data = std::vector<Datum>{test::datum_of(3), test::datum_of(7)};
  data[1].model_input.chunks.emplace_back(ImageChunk{.data = "x", .expected_tokens = {}});
  auto count = token_count(data);
  REQUIRE_FALSE(count.has_value());
  CHECK(count.error().code == Errc::invalid_argument);
  CHECK(count.error().message.find("data[1].model_input") != std::string::npos);
  auto projected = projection({ScoreOp{batch_of({1})}, ScoreOp{make_batch(data)}}, Price{});
  REQUIRE_FALSE(projected.has_value());
  CHECK(projected.error().message.find("schedule[1].datums: data[1]") != std::string::npos);
}

TEST_CASE("A custom loss counts its tokens twice, a bare snapshot none", "[engine][cost]") {
  CHECK(token_passes(mixed()) == TokenPasses{.train = 30, .prefill = 14});
  CHECK(token_passes(mixed(), ForwardRate::train) == TokenPasses{.train = 44, .prefill = 0});
  CHECK(token_passes(Schedule{}) == TokenPasses{});
}

TEST_CASE("A schedule costs its tokens at their rates", "[engine][cost]") {
  // Working of the first: 0.40 * 10 + 0.40 * 10 * 2 + 0.13 * 10 + 0.13 * 4 = 13.82 per million.
  const Price early{.prefill = 0.13, .sample = 0.40, .train = 0.40};
  const Price later{.prefill = 0.195, .sample = 0.60, .train = 0.44};
  CHECK(projection(mixed(), early).value() == Catch::Approx(1.382e-5).epsilon(1e-12));
  CHECK(projection(mixed(), later).value() == Catch::Approx(1.593e-5).epsilon(1e-12));
  CHECK(projection({SnapshotOp{.name = "b", .ttl = {}, .eval = {}}}, early) == 0.0);
  CHECK(projection({}, early) == 0.0);
}

TEST_CASE("A pass without a gradient is counted at the rate that is asked for", "[engine][cost]") {
  const Price price{.prefill = 0.195, .sample = 0.60, .train = 0.44};
  const Schedule eval{ScoreOp{batch_of(std::vector<std::size_t>(80, 512))}};
  CHECK(projection(eval, price).value() == Catch::Approx(0.0079872).epsilon(1e-12));
  CHECK(projection(eval, price, ForwardRate::train).value()
        == Catch::Approx(0.0180224).epsilon(1e-12));
}

TEST_CASE("What is projected in one sum equals what is summed up step by step, to the bit",
          "[engine][cost]") {
  const Price price{.prefill = 0.195, .sample = 0.60, .train = 0.44};
  Schedule schedule;
  for (std::size_t i = 1; i <= 997; ++i)
    schedule.emplace_back(TrainOp{.datums = batch_of({i}), .loss = CrossEntropy{}});
  TokenPasses sum;
  for (auto op = schedule.rbegin(); op != schedule.rend(); ++op)
    sum += token_passes(*op).value();
  CHECK(projection(schedule, price) == cost(sum, price));
}

TEST_CASE("A price that is no price projects nothing", "[engine][cost][errors]") {
  auto projected = projection({}, Price{.train = -1.0});
  REQUIRE_FALSE(projected.has_value());
  CHECK(projected.error().message == "price.train is -1, but must be a number from 0 on");
}

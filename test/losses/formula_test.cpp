// SPDX-License-Identifier: Apache-2.0
#include "losses/formula.hpp"

#include "test/losses/batch.hpp"

#include <limits>
#include <stdexcept>

using namespace tinkaf;
using namespace tinkaf::losses;

namespace {

FormulaValue sum_of_squares(const FormulaInput& input) {
  auto loss = input.tape.constant(0.0);
  for (const auto& p : input.logprobs)
    loss = loss + sum(square(p));
  return {loss, {{"twice", 2.0 * loss}, {"datums", static_cast<double>(input.data.size())}}};
}

} // namespace

TEST_CASE("a formula gives loss, gradients in the shape of the logprobs, and metrics", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F, -1.25F});
  batch.add({-2.0F, -1.0F, -0.5F, -0.25F}, 2);
  const auto value = batch.run(sum_of_squares);
  REQUIRE(value);
  CHECK(value->loss == 0.25 + 1.5625 + 4.0 + 1.0 + 0.25 + 0.0625);
  CHECK(value->gradients[0] == TensorData::of(std::vector<float>{-1.0F, -2.5F}));
  CHECK(value->gradients[1]
        == TensorData::of(std::vector<float>{-4.0F, -2.0F, -1.0F, -0.5F}, {2, 2}));
  CHECK(value->metrics == Metrics{{"twice", 14.25}, {"datums", 2.0}});
}

TEST_CASE("a datum that a formula does not use gets zeros", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F});
  batch.add({-2.0F, -1.0F});
  const auto value = batch.run(
      [](const FormulaInput& input) -> FormulaValue { return {.loss = sum(input.logprobs[0])}; });
  REQUIRE(value);
  CHECK(value->gradients[1] == TensorData::of(std::vector<float>{0.0F, 0.0F}));
}

TEST_CASE("a formula over no datums, and over datums of no tokens, is evaluated", "[losses]") {
  TestBatch none;
  CHECK(none.run(sum_of_squares)->gradients.empty());
  TestBatch empty;
  empty.add({});
  const auto value = empty.run(sum_of_squares);
  REQUIRE(value);
  CHECK(value->loss == 0.0);
  CHECK(value->gradients[0] == TensorData::of(std::vector<float>{}));
}

TEST_CASE("what a formula throws comes out as an error", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F});
  CHECK(holds(refusal(batch.run([](const FormulaInput&) -> FormulaValue {
                throw std::runtime_error{"no such table"};
              })),
              "no such table"));
  CHECK(holds(refusal(batch.run([](const FormulaInput&) -> FormulaValue { throw 42; })),
              "threw something"));
  CHECK(holds(refusal(batch.run([](const FormulaInput& input) -> FormulaValue {
                return {.loss = input.logprobs[0]};
              })),
              "a vector of 1 elements stands where a number is needed"));
  CHECK(holds(refusal(batch.run([](const FormulaInput&) -> FormulaValue { return {}; })),
              "never set"));
  CHECK(holds(refusal(batch.run([](const FormulaInput&) -> FormulaValue {
                Tape other;
                return {.loss = other.constant(1.0)};
              })),
              "two tapes"));
  CHECK(holds(refusal(batch.run(Formula{})), "no formula"));
}

TEST_CASE("a variable kept from an earlier call is refused", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F});
  Var kept;
  auto first = true;
  const auto loss = custom_loss([&kept, &first](const FormulaInput& input) -> FormulaValue {
    const auto now = sum(input.logprobs[0]);
    if (first)
      kept = now;
    return {.loss = now + kept};
  });
  CHECK(loss(batch.input()));
  first = false;
  CHECK(holds(refusal(loss(batch.input())), "two tapes"));
}

TEST_CASE("a loss that is no finite number is an error that names the datum", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F, -1.0F});
  batch.add({-2.0F, 0.0F});
  CHECK(holds(refusal(batch.run([](const FormulaInput& input) -> FormulaValue {
                return {.loss = sum(log(-input.logprobs[1]))};
              })),
              "the loss is -inf, but must be finite; its gradient by logprobs[1] of data[1]"));
  CHECK(holds(refusal(batch.run([](const FormulaInput& input) -> FormulaValue {
                return {.loss = sum(sqrt(-input.logprobs[1]))};
              })),
              "its gradient by logprobs[1] of data[1] is inf"));
  CHECK(holds(refusal(batch.run([](const FormulaInput& input) -> FormulaValue {
                return {.loss = 1e39 * sum(input.logprobs[0])};
              })),
              "its gradient by logprobs[0] of data[0] is 1e+39, but must be finite in float32"));
  batch.add({-1.0F, -std::numeric_limits<float>::infinity()});
  CHECK(holds(refusal(batch.run(sum_of_squares)), "logprobs[1] of data[2] is -inf"));
}

TEST_CASE("logprobs that do not fit the batch are refused", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F});
  batch.logprobs.push_back(TensorData::of(std::vector<float>{1.0F}));
  CHECK(holds(refusal(batch.run(sum_of_squares)), "logprobs of 2 datums for 1"));
  batch.logprobs = {TensorData::of(std::vector<std::int64_t>{1})};
  CHECK(holds(refusal(batch.run(sum_of_squares)), "data[0]: is no dense float32 tensor"));
  batch.logprobs = {TensorData::of(std::vector<float>{1.0F, 2.0F, 3.0F}, {1, 2})};
  CHECK(holds(refusal(batch.run(sum_of_squares)), "3 elements do not make rows of 2"));
}

TEST_CASE("a call that was given up ends in cancelled", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F});
  std::stop_source source;
  auto input = batch.input();
  input.stop = source.get_token();
  const auto loss = custom_loss([&](const FormulaInput& x) -> FormulaValue {
    source.request_stop();
    if (x.stop.stop_requested())
      throw std::runtime_error{"stopped early"};
    return sum_of_squares(x);
  });
  const auto value = loss(input);
  REQUIRE_FALSE(value);
  CHECK(value.error().code == Errc::cancelled);
}

TEST_CASE("fields of a datum are constants of the size of its logprobs", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F, -1.0F}, 1, {{"weights", {0.0F, 2.0F}}});
  batch.add({-2.0F, -4.0F});
  const auto value = batch.run([](const FormulaInput& input) -> FormulaValue {
    return {.loss
            = dot(input.weights(0), input.logprobs[0]) + dot(input.weights(1), input.logprobs[1])};
  });
  REQUIRE(value);
  CHECK(value->loss == -8.0);
  const auto asking = [&](const char* name) {
    return refusal(batch.run([name](const FormulaInput& input) -> FormulaValue {
      return {.loss = sum(input.field(1, name))};
    }));
  };
  CHECK(holds(asking("advantages"), "data[1].loss_fn_inputs.advantages: is missing"));
  batch.data[1].loss_fn_inputs["advantages"] = TensorData::of(std::vector<float>{1.0F});
  CHECK(holds(asking("advantages"),
              "data[1].loss_fn_inputs.advantages: has 1 elements for 2 logprobs"));
}

TEST_CASE("fields given beside a formula go before those of the datums", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F, -1.0F}, 1, {{"weights", {0.0F, 2.0F}}});
  const Formula formula = [](const FormulaInput& input) -> FormulaValue {
    return {.loss = dot(input.weights(0), input.field(0, "advantages") * input.logprobs[0])};
  };
  const auto with
      = [&](Fields fields) { return custom_loss(formula, std::move(fields))(batch.input()); };
  CHECK(with({{"advantages", {{3.0F, 3.0F}}}})->loss == -6.0);
  CHECK(with({{"advantages", {{3.0F, 3.0F}}}, {"weights", {{2.0F, 0.0F}}}})->loss == -3.0);
  CHECK(holds(refusal(with({{"advantages", {{3.0F}}}})),
              "advantages[0]: has 1 elements for 2 logprobs"));
  CHECK(holds(refusal(with({{"advantages", {}}})), "advantages: has values of 0 datums for 1"));
}

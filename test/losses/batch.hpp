// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "losses/formula.hpp"
#include "test/losses/differences.hpp"

#include <string>
#include <vector>

namespace tinkaf::losses {

/// A batch and what the model says of it. Numbers that float32 holds exactly.
struct TestBatch {
  std::vector<Datum> data;
  std::vector<TensorData> logprobs;

  /// A datum of these logprobs, with `columns` target tokens per position.
  void add(std::vector<float> values, std::int64_t columns = 1,
           std::map<std::string, std::vector<float>> fields = {}) {
    std::vector<std::int64_t> shape{static_cast<std::int64_t>(values.size()) / columns};
    if (columns > 1)
      shape.push_back(columns);
    Datum datum;
    datum.loss_fn_inputs["target_tokens"]
        = TensorData::of(std::vector<std::int64_t>(values.size(), 1), shape);
    for (auto& [name, own] : fields)
      datum.loss_fn_inputs[name] = TensorData::of(std::move(own), shape);
    data.push_back(std::move(datum));
    logprobs.push_back(TensorData::of(std::move(values), shape));
  }

  [[nodiscard]] CustomLossInput input() const {
    return {.data = data, .logprobs = logprobs};
  }

  [[nodiscard]] Result<CustomLossValue> run(const Formula& formula) const {
    return custom_loss(formula)(input());
  }

  /// The formula as a function of the logprobs, in double precision.
  [[nodiscard]] Scalar scalar(const Formula& formula) const {
    return [formula, this](Tape& tape, const std::vector<Var>& logprobs_) {
      std::vector<std::size_t> columns;
      for (const auto& tensor : logprobs)
        columns.push_back(tensor.shape->size() == 2 ? static_cast<std::size_t>(tensor.shape->at(1))
                                                    : 1);
      return formula({.tape = tape,
                      .data = data,
                      .logprobs = logprobs_,
                      .columns = columns,
                      .stop = {}})
          .loss;
    };
  }

  [[nodiscard]] Points points() const {
    Points out;
    for (const auto& tensor : logprobs)
      out.emplace_back(tensor.floats()->begin(), tensor.floats()->end());
    return out;
  }
};

/// Checks the formula's gradient, also as it comes out of `custom_loss`.
inline void check_formula(const Formula& formula, const TestBatch& batch) {
  const auto expected = differences_at(batch.scalar(formula), batch.points());
  check_close(gradient_at(batch.scalar(formula), batch.points()), expected);
  const auto value = batch.run(formula);
  if (!value)
    FAIL(value.error().message);
  Points got;
  for (const auto& gradient : value->gradients)
    got.emplace_back(gradient.floats()->begin(), gradient.floats()->end());
  check_close(got, expected);
}

/// The text of the error that the loss ends in.
inline std::string refusal(const Result<CustomLossValue>& value) {
  REQUIRE_FALSE(value);
  CHECK(value.error().code == Errc::invalid_argument);
  return value.error().message;
}

inline bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

} // namespace tinkaf::losses

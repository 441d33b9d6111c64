// SPDX-License-Identifier: Apache-2.0
#include "losses/formula.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>

namespace tinkaf::losses {

namespace {

tl::unexpected<Error> refuse(std::string message) {
  return fail(Errc::invalid_argument, std::move(message));
}

tl::unexpected<Error> given_up() {
  return fail(Errc::cancelled, "the call was given up");
}

/// The logprobs of a batch on a tape.
struct Logprobs {
  std::vector<Var> variables;
  std::vector<std::size_t> columns;
};

Result<Logprobs> put_on(Tape& tape, const CustomLossInput& input) {
  if (input.logprobs.size() != input.data.size())
    return refuse(fmt::format("there are logprobs of {} datums for {}", input.logprobs.size(),
                              input.data.size()));
  Logprobs out;
  for (std::size_t i = 0; i < input.logprobs.size(); ++i) {
    const auto& tensor = input.logprobs[i];
    const auto name = fmt::format("logprobs of data[{}]", i);
    if (tensor.floats() == nullptr || tensor.sparse)
      return refuse(fmt::format("{}: is no dense float32 tensor", name));
    const auto rows_of_several = tensor.shape && tensor.shape->size() == 2;
    const auto columns = rows_of_several ? std::max<std::int64_t>(tensor.shape->at(1), 1) : 1;
    if (tensor.size() % static_cast<std::size_t>(columns) != 0)
      return refuse(
          fmt::format("{}: {} elements do not make rows of {}", name, tensor.size(), columns));
    out.columns.push_back(static_cast<std::size_t>(columns));
    out.variables.push_back(tape.variable(std::span{*tensor.floats()}));
  }
  return out;
}

/// Index of the first element that is not finite, or the size.
template <class Values>
std::size_t first_not_finite(const Values& values) {
  const auto bad
      = std::find_if(values.begin(), values.end(), [](auto x) { return !std::isfinite(x); });
  return static_cast<std::size_t>(bad - values.begin());
}

/// Says whose fault a loss is that is no number, if that can be known.
std::string suspect(const Logprobs& logprobs, std::span<const Var> slopes) {
  for (std::size_t i = 0; i < logprobs.variables.size(); ++i) {
    const auto values = logprobs.variables[i].values();
    if (const auto bad = first_not_finite(values); bad < values.size())
      return fmt::format("; logprobs[{}] of data[{}] is {}", bad, i, values[bad]);
  }
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const auto values = slopes[i].values();
    if (const auto bad = first_not_finite(values); bad < values.size())
      return fmt::format("; its gradient by logprobs[{}] of data[{}] is {}", bad, i, values[bad]);
  }
  return {};
}

Result<TensorData> gradient_of(const Var& slope, const TensorData& logprobs, std::size_t datum) {
  const auto values = slope.values();
  std::vector<float> out(values.begin(), values.end());
  if (const auto bad = first_not_finite(out); bad < out.size())
    return refuse(fmt::format("its gradient by logprobs[{}] of data[{}] is {}, but "
                              "must be finite in float32",
                              bad, datum, values[bad]));
  return TensorData{.data = std::move(out), .shape = logprobs.shape};
}

Result<CustomLossValue> evaluate(const Formula& formula, const Fields& fields,
                                 const CustomLossInput& input) {
  if (!formula)
    return refuse("there is no formula");
  Tape tape;
  const auto logprobs = put_on(tape, input);
  if (!logprobs)
    return fail(logprobs.error());
  const auto value = formula(FormulaInput{.tape = tape,
                                          .data = input.data,
                                          .logprobs = logprobs->variables,
                                          .columns = logprobs->columns,
                                          .stop = input.stop,
                                          .fields = &fields});
  if (input.stop.stop_requested())
    return given_up();
  CustomLossValue out{.loss = value.loss.value()};
  const auto slopes = gradients(value.loss, logprobs->variables);
  if (!std::isfinite(out.loss))
    return refuse(
        fmt::format("the loss is {}, but must be finite{}", out.loss, suspect(*logprobs, slopes)));
  out.gradients.reserve(slopes.size());
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    auto gradient = gradient_of(slopes[i], input.logprobs[i], i);
    if (!gradient)
      return fail(std::move(gradient.error()));
    out.gradients.push_back(std::move(*gradient));
  }
  for (const auto& [name, metric] : value.metrics)
    out.metrics.insert_or_assign(name, metric.value());
  return out;
}

} // namespace

Var FormulaInput::field(std::size_t datum, std::string_view name) const {
  if (datum >= data.size())
    throw FormulaError{fmt::format("data[{}] is asked for, but there are {}", datum, data.size())};
  const auto key = std::string{name};
  if (fields != nullptr)
    if (const auto own = fields->find(key); own != fields->end())
      return of(own->second, datum, name);
  const auto& tensors = data[datum].loss_fn_inputs;
  const auto found = tensors.find(key);
  if (found == tensors.end())
    throw FormulaError{fmt::format("data[{}].loss_fn_inputs.{}: is missing", datum, name)};
  auto out = tape.constant(found->second);
  if (out.size() != logprobs[datum].size())
    throw FormulaError{fmt::format("data[{}].loss_fn_inputs.{}: has {} elements for {} logprobs",
                                   datum, name, out.size(), logprobs[datum].size())};
  return out;
}

Var FormulaInput::weights(std::size_t datum) const {
  const auto beside = fields != nullptr && fields->count("weights") != 0;
  if (datum < data.size() && data[datum].loss_fn_inputs.count("weights") == 0 && !beside)
    return fill(tape.constant(1.0), logprobs[datum].size());
  return field(datum, "weights");
}

Var FormulaInput::of(const TokenValues& values, std::size_t datum, std::string_view what) const {
  if (values.size() != logprobs.size())
    throw FormulaError{
        fmt::format("{}: has values of {} datums for {}", what, values.size(), logprobs.size())};
  const auto& own = values.at(datum);
  if (own.size() != logprobs[datum].size())
    throw FormulaError{fmt::format("{}[{}]: has {} elements for {} logprobs", what, datum,
                                   own.size(), logprobs[datum].size())};
  return tape.constant(std::span{own});
}

CustomLossFn custom_loss(Formula formula, Fields fields) {
  return [formula = std::move(formula),
          fields = std::move(fields)](const CustomLossInput& input) -> Result<CustomLossValue> {
    try {
      return evaluate(formula, fields, input);
    } catch (const std::exception& thrown) {
      if (input.stop.stop_requested())
        return given_up();
      return refuse(thrown.what());
    } catch (...) {
      return refuse("it threw something that is no std::exception");
    }
  };
}

} // namespace tinkaf::losses

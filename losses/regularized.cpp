// SPDX-License-Identifier: Apache-2.0
#include "losses/regularized.hpp"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <utility>

namespace tinkaf::losses {

namespace {

using Numbers = std::vector<std::vector<double>>;

/// Adds weight · slopes to `sum`, and returns the norm of the slopes.
double add_gradient(const FormulaInput& input, const Var& value, double weight, Numbers& sum) {
  auto squares = 0.0;
  const auto slopes = gradients(value, input.logprobs);
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    const auto from = slopes[i].values();
    auto& to = sum[i];
    to.resize(from.size(), 0.0);
    for (std::size_t t = 0; t < from.size(); ++t) {
      squares += from[t] * from[t];
      to[t] += weight * from[t];
    }
  }
  return std::sqrt(squares);
}

double norm(const Numbers& numbers) {
  auto squares = 0.0;
  for (const auto& part : numbers)
    for (const auto x : part)
      squares += x * x;
  return std::sqrt(squares);
}

FormulaValue value_of(const Regularizer& term, const FormulaInput& input) {
  try {
    auto out = term.value(input);
    if (const auto value = out.loss.value(); !std::isfinite(value))
      throw FormulaError{fmt::format("its value is {}, but must be finite", value)};
    return out;
  } catch (const std::exception& thrown) {
    throw FormulaError{fmt::format("regularizer `{}`: {}", term.name, thrown.what())};
  }
}

/// Metrics under names that must not be taken.
class Report {
public:
  explicit Report(std::map<std::string, Metric>& metrics) : metrics_(metrics) {}

  void add(const std::string& name, Metric value) {
    if (!metrics_.emplace(name, value).second)
      throw FormulaError{fmt::format("two metrics have the name `{}`", name)};
  }

private:
  std::map<std::string, Metric>& metrics_;
};

FormulaValue sum_of(const Formula& base, const std::vector<Regularizer>& terms,
                    const FormulaInput& input) {
  auto out = base(input);
  Report report{out.metrics};
  Numbers slopes(input.logprobs.size());
  report.add("base_loss/value", out.loss);
  report.add("base_loss/grad_norm", add_gradient(input, out.loss, 1.0, slopes));
  auto added = input.tape.constant(0.0);
  for (const auto& term : terms) {
    if (input.stop.stop_requested())
      throw FormulaError{"the call was given up"};
    const auto value = value_of(term, input);
    const auto slope = add_gradient(input, value.loss, term.weight, slopes);
    report.add(term.name + "/value", value.loss);
    report.add(term.name + "/weight", term.weight);
    report.add(term.name + "/contribution", term.weight * value.loss.value());
    report.add(term.name + "/grad_norm", slope);
    report.add(term.name + "/grad_norm_weighted", term.weight * slope);
    for (const auto& [name, metric] : value.metrics)
      report.add(term.name + "/" + name, metric);
    added = added + term.weight * value.loss;
  }
  out.loss = out.loss + added;
  report.add("regularizer_total", added);
  report.add("loss_total", out.loss);
  report.add("total_grad_norm", norm(slopes));
  return out;
}

} // namespace

Result<Formula> regularized(Formula base, std::vector<Regularizer> terms) {
  const auto refuse
      = [](std::string message) { return fail(Errc::invalid_argument, std::move(message)); };
  if (!base)
    return refuse("regularized: the base loss is empty");
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto& term = terms[i];
    if (term.name.empty())
      return refuse(fmt::format("regularizers[{}]: name is empty", i));
    if (!names.insert(term.name).second)
      return refuse(fmt::format("regularizers[{}]: name `{}` is taken", i, term.name));
    if (!std::isfinite(term.weight) || term.weight < 0.0)
      return refuse(fmt::format("regularizers[{}] `{}`: weight is {}, must be a number from 0 on",
                                i, term.name, term.weight));
    if (!term.value)
      return refuse(fmt::format("regularizers[{}] `{}`: value is empty", i, term.name));
  }
  return [base = std::move(base), terms = std::move(terms)](const FormulaInput& input) {
    return sum_of(base, terms, input);
  };
}

} // namespace tinkaf::losses

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "losses/autodiff.hpp"
#include "messages/custom_loss.hpp"

#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::losses {

/// Numbers by datum and element, for example log-probabilities under a reference model: as many per
/// datum as it has target tokens, row by row.
using TokenValues = std::vector<std::vector<float>>;

/// Such numbers by name, for example "advantages".
using Fields = std::map<std::string, TokenValues>;

/// What a formula is given. Valid during the call only.
struct FormulaInput {
  /// For constants of the formula's own.
  Tape& tape;

  /// The batch, as it was submitted.
  std::span<const Datum> data;

  /// Log-probability of each target token, in nats: one vector per datum; row by row where
  /// `target_tokens` is [tokens, K].
  std::span<const Var> logprobs;

  /// K of each datum, or 1.
  std::span<const std::size_t> columns;

  /// Set once nobody waits for the result any more.
  std::stop_token stop;

  /// What `custom_loss` was given beside the formula, if anything.
  const Fields* fields = nullptr;

  /// Numbers of a datum as a constant, for example "advantages": those given beside the formula, or
  /// else the datum's tensor of that name.
  /// Throws `FormulaError` if there are none, or not as many as logprobs.
  [[nodiscard]] Var field(std::size_t datum, std::string_view name) const;

  /// The datum's `weights`, or ones if it has none.
  [[nodiscard]] Var weights(std::size_t datum) const;

  /// Values from elsewhere as a constant.
  /// @param what what to call them in the error if their numbers do not fit the batch
  [[nodiscard]] Var of(const TokenValues& values, std::size_t datum, std::string_view what) const;
};

/// A number that is reported beside the loss; written as a number or as a scalar `Var`.
class Metric {
public:
  Metric(double value) : value_(value) {}             // NOLINT(google-explicit-constructor)
  Metric(const Var& value) : value_(value.value()) {} // NOLINT(google-explicit-constructor)

  [[nodiscard]] double value() const noexcept {
    return value_;
  }

private:
  double value_;
};

/// What a formula makes of it.
struct FormulaValue {
  /// The loss of the whole batch, a scalar.
  Var loss;

  std::map<std::string, Metric> metrics;
};

/// A loss, written over variables. May throw; called on one thread at a time by each call that uses
/// it, and on several threads if several calls do.
using Formula = std::function<FormulaValue(const FormulaInput&)>;

/// A loss and its gradients from a formula, for `forward_backward_custom`.
///
/// A datum whose logprobs the formula does not use gets zeros. The loss answers with an error, and
/// nothing is sent, if the formula throws (`Errc::invalid_argument` with its text), if loss or a
/// gradient is not a finite number (it names the datum), or if the call was given up in the
/// meantime (`Errc::cancelled`).
/// @param fields what `FormulaInput::field` is to find besides the datums' own tensors: data for a
///   custom loss may hold `target_tokens` and `weights` only
[[nodiscard]] CustomLossFn custom_loss(Formula formula, Fields fields = {});

} // namespace tinkaf::losses

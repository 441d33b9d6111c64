// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <memory>
#include <mutex>

#include "engine/cost.hpp"

namespace tinkaf {

/// A limit in USD that is never passed by what is known to be spent and what may still be.
///
/// Before an operation is submitted its projected cost is reserved; once it has ended it counts as
/// spent. Shared by all runs that are to stay below it together. Thread-safe.
class SpendCap {
public:
  /// @param limit_usd finite, at least 0; with 0 nothing that costs something may be submitted
  /// @param price of the model that is trained
  /// @param forwards at which rate passes without a gradient are counted
  /// @returns `Errc::invalid_argument` naming the bad value
  [[nodiscard]] static Result<std::shared_ptr<SpendCap>>
  make(double limit_usd, const Price& price, ForwardRate forwards = ForwardRate::prefill);

  SpendCap(const SpendCap&) = delete;
  SpendCap& operator=(const SpendCap&) = delete;

  /// Whether so much more may be spent.
  /// @returns `Errc::invalid_argument` with the projected sum and the limit
  [[nodiscard]] Result<void> check(const TokenPasses& tokens) const;

  /// Sets so much aside.
  /// @returns as `check`; then nothing is set aside
  [[nodiscard]] Result<void> reserve(const TokenPasses& tokens);

  /// What was set aside has been spent.
  void settle(const TokenPasses& tokens);

  /// What was set aside has not been spent.
  void release(const TokenPasses& tokens);

  /// In USD.
  [[nodiscard]] double spent() const;

  /// In USD.
  [[nodiscard]] double reserved() const;

  /// In USD.
  [[nodiscard]] double limit() const noexcept {
    return limit_;
  }

  [[nodiscard]] ForwardRate forwards() const noexcept {
    return forwards_;
  }

private:
  SpendCap(double limit, const Price& price, ForwardRate forwards);

  /// @pre the mutex is held
  [[nodiscard]] Result<void> fits(const TokenPasses& tokens) const;

  const double limit_;
  const Price price_;
  const ForwardRate forwards_;
  mutable std::mutex mutex_; // of what follows
  TokenPasses spent_;
  TokenPasses reserved_;
};

} // namespace tinkaf

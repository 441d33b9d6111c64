// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstdint>
#include <vector>

#include "engine/ops.hpp"
#include "engine/prices.hpp"

// What a schedule costs, before anything of it is sent. Pure: asks nobody.

namespace tinkaf {

/// At which rate a pass without a gradient is billed: that of `ScoreOp` and `SnapshotOp::eval`.
///
/// Sources do not agree. `prefill` is what the vendor bills for reading; two third parties quote
/// the vendor that a training client is billed at `train` for such a pass too, which is the safe
/// assumption for a cap.
enum class ForwardRate : std::uint8_t { prefill, train };

/// Tokens times passes, by the rate at which they are billed. Integers, so that sums do not depend
/// on their order and what was projected can be compared with what was done.
struct TokenPasses {
  std::int64_t train = 0;
  std::int64_t prefill = 0;

  TokenPasses& operator+=(const TokenPasses& other) noexcept {
    train += other.train;
    prefill += other.prefill;
    return *this;
  }

  TokenPasses& operator-=(const TokenPasses& other) noexcept {
    train -= other.train;
    prefill -= other.prefill;
    return *this;
  }

  friend TokenPasses operator+(TokenPasses a, const TokenPasses& b) noexcept {
    return a += b;
  }

  friend bool operator==(const TokenPasses&, const TokenPasses&) = default;
};

/// Tokens of all model inputs; targets and weights do not count.
/// @returns `Errc::invalid_argument` naming a datum whose length is not known: an image without
///   `expected_tokens`
[[nodiscard]] Result<std::int64_t> token_count(const std::vector<Datum>& datums);

/// What an operation is billed for. A step counts its tokens once for each pass of its loss, a
/// score and a snapshot's `eval` once; a bare snapshot counts nothing.
/// @returns as `token_count`
[[nodiscard]] Result<TokenPasses> token_passes(const Op& op,
                                               ForwardRate forwards = ForwardRate::prefill);

/// Of all operations; nothing for an empty schedule. The error names the operation.
[[nodiscard]] Result<TokenPasses> token_passes(const Schedule& schedule,
                                               ForwardRate forwards = ForwardRate::prefill);

/// In USD, not rounded.
[[nodiscard]] double cost(const TokenPasses& tokens, const Price& price) noexcept;

/// What a schedule will cost in USD, not rounded: `cost` of its `token_passes`.
[[nodiscard]] Result<double> projection(const Schedule& schedule, const Price& price,
                                        ForwardRate forwards = ForwardRate::prefill);

} // namespace tinkaf

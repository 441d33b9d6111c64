// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace tinkaf {

/// The two kinds of checkpoint: to train on, and to sample from.
enum class CheckpointKind : std::uint8_t { training, sampler };

/// A checkpoint's address, `tinker://<run>/<weights|sampler_weights>/<name>`.
struct TinkerPath {
  std::string training_run_id;
  CheckpointKind kind = CheckpointKind::training;
  std::string name;

  /// Reads an address.
  /// @returns `Errc::invalid_argument` that says which part is wrong
  [[nodiscard]] static Result<TinkerPath> parse(std::string_view text);

  /// `weights/<name>` or `sampler_weights/<name>`, as the REST calls name a checkpoint.
  [[nodiscard]] std::string checkpoint_id() const;

  [[nodiscard]] std::string str() const;

  friend bool operator==(const TinkerPath&, const TinkerPath&) = default;
};

/// Returns "weights" or "sampler_weights".
[[nodiscard]] const char* to_string(CheckpointKind kind) noexcept;

} // namespace tinkaf

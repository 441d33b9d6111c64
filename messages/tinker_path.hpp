// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tinkaf {

/// The kinds of checkpoint: to train on, to sample from, and to take elsewhere.
enum class CheckpointKind : std::uint8_t { training, sampler, external };

/// A checkpoint's address, `tinker://<run>/<weights|sampler_weights|external_weights>/<name>`.
struct TinkerPath {
  std::string training_run_id;
  CheckpointKind kind = CheckpointKind::training;
  std::string name;

  /// Reads an address.
  /// @returns `Errc::invalid_argument` that says which part is wrong
  [[nodiscard]] static Result<TinkerPath> parse(std::string_view text);

  /// Kind and name, for example `weights/<name>`, as the REST calls name a checkpoint.
  [[nodiscard]] std::string checkpoint_id() const;

  [[nodiscard]] std::string str() const;

  friend bool operator==(const TinkerPath&, const TinkerPath&) = default;
};

/// Returns "weights", "sampler_weights" or "external_weights".
[[nodiscard]] const char* to_string(CheckpointKind kind) noexcept;

/// The kind that `to_string` gives this text.
[[nodiscard]] std::optional<CheckpointKind> checkpoint_kind_of(std::string_view text) noexcept;

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/openai/answer.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <string>

// Answers as JSON, in the form of the call.

namespace tinkaf::server::openai {

/// An answer with all its choices and its usage.
[[nodiscard]] std::string whole_json(const Answer& answer);

/// What one event tells of a choice.
struct Part {
  std::size_t choice = 0;

  /// The message of a chat begins; nothing else is told.
  bool begins = false;

  std::span<const Piece> pieces;

  /// Of the first of them in the text of the choice, in bytes.
  std::size_t offset = 0;

  /// Why the choice ends, if it does.
  std::optional<StopReason> reason;
};

[[nodiscard]] std::string part_json(const Answer& answer, const Part& part);

/// The usage alone, behind all choices.
[[nodiscard]] std::string usage_json(const Answer& answer);

} // namespace tinkaf::server::openai

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tinkaf {

/// What became of a supervised actor.
enum class PartState : std::uint8_t { running, restarting, ended };

/// Returns "running", "restarting" or "ended".
[[nodiscard]] const char* to_string(PartState state) noexcept;

/// A supervised actor and those that it supervises.
struct SupervisedPart {
  /// What it is and for what, for example "training client s1:train:0".
  std::string name;

  PartState state = PartState::running;
  std::uint32_t restarts = 0;

  /// Why it broke last; empty if it never has.
  std::string last_reason;

  std::vector<SupervisedPart> parts;

  friend bool operator==(const SupervisedPart&, const SupervisedPart&) = default;
};

/// Who restarts whom: the session, and below it all that it has started.
struct SupervisionTree {
  SupervisedPart session;

  friend bool operator==(const SupervisionTree&, const SupervisionTree&) = default;
};

/// The tree for people: a line for each part, indented by its depth. Pollers without a restart are
/// only counted.
[[nodiscard]] std::string to_text(const SupervisionTree& tree);

} // namespace tinkaf

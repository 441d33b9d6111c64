// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tinkaf::text {

/// The merge rules of a byte-pair encoding: which two neighbours become one token, and which
/// pair goes first.
class Merges {
public:
  struct Rule {
    std::int32_t rank = 0;
    std::int32_t result = 0;
  };

  /// Token of each single byte.
  std::array<std::int32_t, 256> byte_token{};

  /// Adds a rule; the first rule for a pair wins.
  void add(std::int32_t left, std::int32_t right, Rule rule);

  /// Appends the tokens of one piece. Takes time n log n in the length of the piece.
  void apply(std::string_view piece, std::vector<std::int32_t>& out) const;

private:
  static std::uint64_t key(std::int32_t left, std::int32_t right) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32
           | static_cast<std::uint32_t>(right);
  }

  std::unordered_map<std::uint64_t, Rule> rules_;
};

} // namespace tinkaf::text

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
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

  /// Stands for a byte that has no token; such bytes are left out of a piece before merging.
  static constexpr std::int32_t no_token = -1;

  /// Token of each single byte.
  std::array<std::int32_t, 256> byte_token{};

  /// Makes room for so many rules.
  void reserve(std::size_t rules);

  /// Adds a rule; the first rule for a pair wins.
  void add(std::int32_t left, std::int32_t right, Rule rule);

  /// Appends the tokens of one piece. Takes time n log n in the length of the piece.
  void apply(std::string_view piece, std::vector<std::int32_t>& out) const;

private:
  struct Slot {
    std::uint64_t pair = empty;
    Rule rule;
  };

  static constexpr std::uint64_t empty = ~std::uint64_t{0};

  static std::uint64_t key(std::int32_t left, std::int32_t right) noexcept {
    return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32
           | static_cast<std::uint32_t>(right);
  }

  [[nodiscard]] bool has_token(char byte) const noexcept {
    return byte_token[static_cast<unsigned char>(byte)] != no_token;
  }
  [[nodiscard]] std::size_t slot_of(std::uint64_t pair) const noexcept;
  [[nodiscard]] const Rule* find(std::int32_t left, std::int32_t right) const noexcept;
  void apply_short(std::string_view piece, std::vector<std::int32_t>& out) const;
  void apply_long(std::string_view piece, std::vector<std::int32_t>& out) const;

  std::vector<Slot> slots_; // a power of two, at most half full; a pair is in the first free one
  std::size_t count_ = 0;
};

} // namespace tinkaf::text

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "text/merges.hpp"
#include "text/splitter.hpp"
#include "text/tokenizer.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tinkaf::text {

struct StringHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view x) const noexcept {
    return std::hash<std::string_view>{}(x);
  }
};
using TokenIds = std::unordered_map<std::string, std::int32_t, StringHash, std::equal_to<>>;

struct AddedToken {
  std::string content;
  std::int32_t id = 0;
};

/// Texts that are tokens wherever they stand; the longest of those that begin at a place wins.
class AddedTokens {
public:
  void add(AddedToken token);

  /// Call once after the last `add`.
  void sort();

  [[nodiscard]] bool empty() const noexcept {
    return tokens_.empty();
  }

  /// Calls `token` for each one in the text and `other` for what is between, in order.
  void split(std::string_view text, const std::function<void(const AddedToken&)>& token,
             const std::function<void(std::string_view)>& other) const;

private:
  const AddedToken* at(std::string_view text, std::size_t position) const;

  std::vector<AddedToken> tokens_; // longest first
  std::array<bool, 256> starts_{};
};

/// What a tokenizer knows.
struct Tokenizer::Tables {
  std::vector<std::string> bytes; ///< of each id
  TokenIds ids;                   ///< by bytes, added tokens by their content
  TokenIds whole;                 ///< pieces that are one token whatever the merges say
  Merges merges;

  /// Each cuts the pieces of the one before.
  std::vector<Splitter> splitters;

  AddedTokens added;            ///< looked for in the text as it is
  AddedTokens added_normalized; ///< looked for in the normalized text
  bool nfc = false;
  bool ignore_merges = false;
  std::optional<std::int32_t> bos;
  std::optional<std::int32_t> eos;

  void set(std::int32_t id, std::string text);
  [[nodiscard]] std::optional<std::int32_t> find(std::string_view text) const;

  /// Appends the tokens of text as it stands between added ones.
  void encode_between(std::string_view text, bool plain, std::vector<std::int32_t>& out) const;
};

/// Reads the tables of a `tokenizer.json`; see `Tokenizer::parse`.
[[nodiscard]] Result<std::shared_ptr<const Tokenizer::Tables>> read_tables(std::string_view json,
                                                                           std::string_view name);

} // namespace tinkaf::text

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/adapter.hpp"
#include "server/model/key_values.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace tinkaf::model {

/// Keys and values of the beginnings of prompts, so that the next prompt that begins alike need
/// not be read from the start. Whole blocks only, the least lately used are dropped first.
/// Thread-safe.
class PrefixCache {
public:
  using Weights = std::shared_ptr<const AdapterWeights>;

  /// @param most_bytes what the blocks may take; 0 keeps none
  explicit PrefixCache(std::size_t most_bytes);

  /// The blocks that are known of the beginning of a prompt. Ends before the prompt's last token,
  /// whose logits somebody wants.
  [[nodiscard]] KeyValues find(const Weights& weights, std::span<const std::int32_t> prompt);

  /// Keeps the full blocks of a prompt that has been read.
  void keep(const Weights& weights, std::span<const std::int32_t> prompt, const KeyValues& memory);

  [[nodiscard]] std::size_t bytes() const;

private:
  struct Entry {
    std::string key;
    Weights weights; // kept, so that the key stays that of this object
    std::shared_ptr<KeyValueBlock> block;
  };

  /// Weights and all tokens up to the end of a block: what its bits depend on.
  static std::string key_of(const Weights& weights, std::span<const std::int32_t> prompt,
                            std::size_t blocks);

  std::size_t most_bytes_;
  mutable std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::list<Entry> entries_; // latest first
  std::unordered_map<std::string, std::list<Entry>::iterator> by_key_;
};

} // namespace tinkaf::model

// SPDX-License-Identifier: Apache-2.0
#include "server/model/prefix_cache.hpp"

namespace tinkaf::model {

PrefixCache::PrefixCache(std::size_t most_bytes) : most_bytes_(most_bytes) {}

std::string PrefixCache::key_of(const Weights& weights, std::span<const std::int32_t> prompt,
                                std::size_t blocks) {
  const auto* address = weights.get();
  std::string key{reinterpret_cast<const char*>(&address), sizeof address};
  const auto tokens = prompt.first(blocks * KeyValueBlock::tokens);
  key.append(reinterpret_cast<const char*>(tokens.data()), tokens.size_bytes());
  return key;
}

KeyValues PrefixCache::find(const Weights& weights, std::span<const std::int32_t> prompt) {
  KeyValues out;
  const std::lock_guard lock{mutex_};
  for (std::size_t n = 1; n * KeyValueBlock::tokens < prompt.size(); ++n) {
    const auto found = by_key_.find(key_of(weights, prompt, n));
    if (found == by_key_.end())
      break;
    entries_.splice(entries_.begin(), entries_, found->second);
    out.blocks.push_back(found->second->block);
    out.length += KeyValueBlock::tokens;
  }
  return out;
}

void PrefixCache::keep(const Weights& weights, std::span<const std::int32_t> prompt,
                       const KeyValues& memory) {
  const std::lock_guard lock{mutex_};
  for (std::size_t n = 1; n * KeyValueBlock::tokens <= prompt.size(); ++n) {
    const auto& block = memory.blocks[n - 1];
    if (block->bytes() > most_bytes_)
      return;
    auto key = key_of(weights, prompt, n);
    if (by_key_.contains(key))
      continue;
    entries_.push_front({key, weights, block});
    by_key_.emplace(std::move(key), entries_.begin());
    bytes_ += block->bytes();
  }
  while (bytes_ > most_bytes_) {
    bytes_ -= entries_.back().block->bytes();
    by_key_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

std::size_t PrefixCache::bytes() const {
  const std::lock_guard lock{mutex_};
  return bytes_;
}

} // namespace tinkaf::model

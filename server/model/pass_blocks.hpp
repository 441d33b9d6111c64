// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

// How the passes over a sequence are cut up.

namespace tinkaf::model {

/// Rows of attention scores computed at once. A block only looks at columns up to its own end,
/// which saves almost half of the work of a full square.
inline constexpr std::size_t attention_block = 64;

/// Positions whose logits are computed at once.
inline constexpr std::size_t logits_block = 128;

/// Makes room; what is there stays.
inline void grow(std::vector<float>& x, std::size_t size) {
  if (x.size() < size)
    x.resize(size);
}

} // namespace tinkaf::model

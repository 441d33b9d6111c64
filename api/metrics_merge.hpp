// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/training.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace tinkaf {

/// Joins the results of a batch that travelled in parts, in the order of the parts.
///
/// Outputs are put one after the other; metrics combine by the suffix of their names (`:sum`,
/// `:mean`, `:min`, `:max`, `:slack`, `:unique`, `:hash_unordered`), weighted by the number of
/// outputs. Also to be applied to a single part. A name that a part lacks is dropped, as is one
/// with an unknown suffix. `…:hash_unordered` goes to `hashes`.
///
/// @returns `Errc::protocol_error` for a name without exactly one colon, and for a weighted mean
///   of no outputs
[[nodiscard]] Result<ForwardBackwardOutput> merge_outputs(std::vector<ForwardBackwardOutput> parts);

/// Hash of a multiset of integers, equal to the hash that Python gives to their sorted tuple.
[[nodiscard]] std::int64_t hash_unordered(std::vector<std::int64_t> values);

} // namespace tinkaf

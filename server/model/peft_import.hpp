// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/adapter.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace tinkaf::model {

/// Makes an adapter to be trained on of one that was made elsewhere: a folder with
/// `adapter_config.json` and `adapter_model.safetensors` as PEFT writes them.
///
/// The model computes the same afterwards, up to rounding: another alpha is folded into B, and a
/// rank that is no power of 2 is filled up to the next one. A matrix that the adapter does not
/// have, in a group (attention, MLP, head) of which it has another, and the ranks that are filled
/// up, start as in a new adapter, whose B is zero.
///
/// @param seed of what starts anew
/// @returns `Errc::io_error`, or `Errc::invalid_argument` naming file and field or tensor
[[nodiscard]] Result<Adapter> import_peft(const std::shared_ptr<const BaseModel>& base,
                                          const std::filesystem::path& folder,
                                          std::int64_t seed = 0);

/// An adapter with its share in a sum.
struct MergePart {
  /// As `Adapter::save` writes it.
  std::filesystem::path folder;
  double weight = 1.0;
};

/// Makes one adapter that changes the base by the weighted sum of what several change: the ranks
/// are put side by side, and filled up to a power of 2 as in `import_peft`.
/// @pre there is at least one
/// @returns as `import_peft`
[[nodiscard]] Result<Adapter> merge_adapters(const std::shared_ptr<const BaseModel>& base,
                                             std::span<const MergePart> parts,
                                             std::int64_t seed = 0);

} // namespace tinkaf::model

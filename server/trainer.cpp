// SPDX-License-Identifier: Apache-2.0
#include "server/trainer.hpp"

namespace tinkaf::server {

Result<std::unique_ptr<TrainedModel>> Trainer::import_adapter(const std::filesystem::path&) {
  return fail(Errc::invalid_argument, "base_model: it takes no adapters from elsewhere");
}

Result<std::unique_ptr<TrainedModel>> Trainer::merge(std::span<const Share>) {
  return fail(Errc::invalid_argument, "sources: the adapters of this base model have no sum");
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/base_model.hpp"
#include "server/model/thread_pool.hpp"
#include "server/trainer.hpp"

#include <memory>

namespace tinkaf::server {

/// A trainer over a model of this machine.
[[nodiscard]] std::shared_ptr<Trainer>
make_local_trainer(std::shared_ptr<const model::BaseModel> base,
                   std::shared_ptr<model::ThreadPool> pool);

} // namespace tinkaf::server

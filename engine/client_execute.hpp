// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/training_client.hpp"

#include <memory>

#include "engine/execution.hpp"

namespace tinkaf {

/// A training client as the engine sees it. What it refuses is told by the answer, never at the
/// call.
[[nodiscard]] std::shared_ptr<EngineClient> engine_client(TrainingClient client);

/// Runs a schedule over a training client, see `Execution`.
[[nodiscard]] Execution execute(const TrainingClient& client, Schedule schedule,
                                std::shared_ptr<SpendCap> cap = {});
[[nodiscard]] Execution execute(const TrainingClient& client, OpSource source,
                                std::shared_ptr<SpendCap> cap = {});

} // namespace tinkaf

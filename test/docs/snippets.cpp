// SPDX-License-Identifier: Apache-2.0
//
// Each C++ block of README and documents, in what goes without saying around it. Compiled, not run.

#include "actors/job_supervisor.hpp"
#include "actors/session.hpp"
#include "client/recovery.hpp"
#include "client/service.hpp"
#include "losses/dpo.hpp"
#include "losses/regularized.hpp"
#include "losses/regularizers.hpp"
#include "messages/interfaces.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>

#include <deque>
#include <iostream>

#include "backend/checkpoint_manager.hpp"
#include "backend/tinker_backend.hpp"
#include "backend/training_loop.hpp"
#include "engine/client_execute.hpp"
#include "train/recipe_job.hpp"
#include "train/recipe_runs.hpp"

// Pages that write `tinkaf::`.
namespace qualified {

int readme(const tinkaf::Batch& batch) {
#include "README_1.inc"
  return 0;
}

void moving(const std::string& name, const tinkaf::Datum& datum) {
#include "moving_1.inc"
}

void rest() {
#include "rest_1.inc"
}

struct Clients {
  void push(const tinkaf::TrainingClient& client);
};

void recovery(const tinkaf::Service& service, const tinkaf::TrainingClient& client,
              Clients& clients) {
#include "recovery_1.inc"
}

void operations(const tinkaf::TrainingClient& client, const tinkaf::Batch& batch) {
#include "operations_1.inc"
}

void durability(caf::actor_system& system, caf::event_based_actor* self,
                const tinkaf::train::RecipeJobSettings& settings) {
#include "durability_1.inc"
}

} // namespace qualified

using namespace tinkaf;

namespace {

Result<void> getting_started(const Service& service, const SamplingClient& sampling,
                             const SampleSource& next_prompt) {
#include "getting_started_1.inc"
#include "getting_started_2.inc"
  return {};
}

void actors(const ClientOptions& options) {
#include "actors_1.inc"
}

void actors(caf::event_based_actor* self, const SessionActor& session,
            const std::string& base_model, const std::function<void(caf::error&)>& on_error){
#include "actors_2.inc"
}

Result<void> engine(const TrainingClient& training_client, const Batch& batch,
                    const Batch& held_out, const CustomLossFn& my_loss) {
#include "engine_1.inc"
  return {};
}

Result<void> engine(const TrainingClient& training_client, const Schedule& schedule,
                    const PriceTable& prices) {
#include "engine_2.inc"
  return {};
}

void backend(const Batch& batch){
#include "backend_1.inc"
}

Result<void> backend(TinkerBackendSettings settings, StepBuilder& builder, LoopSettings loop,
                     std::int64_t steps, const std::filesystem::path& folder) {
#include "backend_2.inc"
  return {};
}

void recipes(const std::shared_ptr<const std::vector<train::Prompt>>& prompts,
             const text::Tokenizer& tokenizer) {
#include "recipes_1.inc"
}

void recipes(caf::actor_system& system, const JobFn& job) {
#include "recipes_2.inc"
}

} // namespace

using namespace tinkaf::losses;

#include "custom_losses_1.inc"
#include "custom_losses_2.inc"
#include "custom_losses_3.inc"

// SPDX-License-Identifier: Apache-2.0
#include "actors/recovery_attempt.hpp"

#include "actors/exceptions.hpp"

#include <utility>

namespace tinkaf {

RecoveryAttemptState::~RecoveryAttemptState() {
  if (client)
    self->send_exit(client, caf::exit_reason::user_shutdown);
}

void RecoveryAttemptState::start() {
  tell_event(RecoveryEventKind::started, {});
  auto path = known_checkpoint();
  if (!path.empty())
    create(std::move(path));
  else
    ask_for_checkpoints();
}

std::string RecoveryAttemptState::known_checkpoint() const {
  const auto& policy = settings.policy;
  const auto& run = job.wanted.run;
  if (policy.strategy == RecoveryStrategy::specific)
    return policy.checkpoint;
  auto usable
      = [this](const std::string& path) { return !path.empty() && !job.refused.contains(path); };
  if (policy.strategy == RecoveryStrategy::best) {
    auto rated = run.rated;
    std::erase_if(rated, [&](const RatedCheckpoint& x) { return !usable(x.path); });
    if (const auto* best = best_of(rated, policy.lower_is_better))
      return best->path;
  }
  if (usable(run.checkpoint))
    return run.checkpoint;
  return usable(job.wanted.last_checkpoint) ? job.wanted.last_checkpoint : std::string{};
}

void RecoveryAttemptState::ask_for_checkpoints() {
  self->request(settings.rest, caf::infinite, ListCheckpoints{job.wanted.run.training_run_id})
      .then([this](const CheckpointsListResponse& list) { on_checkpoints(list); },
            [this](const caf::error& error) { finish(fail(from_caf(error))); });
}

void RecoveryAttemptState::on_checkpoints(const CheckpointsListResponse& list) {
  const Checkpoint* newest = nullptr;
  for (const auto& x : list.checkpoints)
    if (x.checkpoint_type == CheckpointKind::training && !job.refused.contains(x.tinker_path)
        && (newest == nullptr || newest->time <= x.time))
      newest = &x;
  if (newest != nullptr)
    return create(newest->tinker_path);
  finish(fail(Errc::not_found, "training run " + job.wanted.run.training_run_id
                                   + " has no checkpoint to go on from"),
         true);
}

void RecoveryAttemptState::create(std::string path) {
  checkpoint = std::move(path);
  tell_event(RecoveryEventKind::checkpoint_selected, checkpoint);
  self->request(settings.session, caf::infinite,
                CreateTrainingClientFromState{.path = checkpoint,
                                              .with_optimizer = settings.policy.with_optimizer,
                                              .user_metadata = job.wanted.run.user_metadata})
      .then([this](const TrainingClientActor& made) { on_client(made); },
            [this](const caf::error& error) { finish(fail(from_caf(error))); });
}

void RecoveryAttemptState::on_client(const TrainingClientActor& made) {
  client = made;
  self->request(client, caf::infinite, atom::open_v)
      .then([this](const std::string& training_run_id) { on_open(training_run_id); },
            [this](const caf::error& error) { finish(fail(from_caf(error))); });
}

void RecoveryAttemptState::on_open(const std::string& training_run_id) {
  tell_event(RecoveryEventKind::client_created, training_run_id);
  finish(RecoveredRun{.old_run_id = job.wanted.run.training_run_id,
                      .old_client = job.wanted.run.client,
                      .training_run_id = training_run_id,
                      .client = std::exchange(client, nullptr),
                      .checkpoint = checkpoint});
}

void RecoveryAttemptState::tell_event(RecoveryEventKind kind, std::string detail) const {
  tell(settings, {kind, job.wanted.run.training_run_id, job.number, std::move(detail)});
}

void RecoveryAttemptState::finish(Result<RecoveredRun> result, bool is_final) {
  answer.deliver(RecoveryAttemptEnd{checkpoint, std::move(result), is_final});
  self->quit();
}

RecoveryAttemptActor::behavior_type recovery_attempt(RecoveryAttemptState::SelfPointer self,
                                                     RecoverySettings settings) {
  end_on_exception(self);
  self->state.settings = std::move(settings);
  return {[self](RecoveryAttempt& job) {
    auto& state = self->state;
    state.job = std::move(job);
    state.answer = self->make_response_promise<RecoveryAttemptEnd>();
    state.start();
    return state.answer;
  }};
}

} // namespace tinkaf

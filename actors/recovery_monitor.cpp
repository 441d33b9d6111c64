// SPDX-License-Identifier: Apache-2.0
#include "actors/recovery_monitor.hpp"

#include "actors/exceptions.hpp"
#include "actors/exit_reasons.hpp"
#include "actors/recovery_executor.hpp"
#include "api/random.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace tinkaf {

namespace {

/// Calls what the user gave.
template <class Function, class... Args>
void call(const Function& function, const Args&... args) {
  try {
    if (function)
      function(args...);
  } catch (...) { // NOLINT(bugprone-empty-catch): what the user's code throws stops no recovery
  }
}

} // namespace

RecoveryMonitorState::~RecoveryMonitorState() {
  if (executor)
    self->send_exit(executor, caf::exit_reason::user_shutdown);
}

// --- what is watched -----------------------------------------------------------------------------

caf::result<Done> RecoveryMonitorState::watch(WatchedRun run) {
  if (!settings.policy.enabled)
    return to_caf({Errc::invalid_argument,
                   "recovery is disabled: set `enabled` in the policy to have runs watched",
                   ErrorCategory::user});
  if (run.training_run_id.empty())
    return to_caf({Errc::invalid_argument, "training_run_id is empty", ErrorCategory::user});
  auto id = run.training_run_id;
  if (auto found = entries.find(id); found != entries.end() && found->second.recovering)
    return to_caf(
        {Errc::conflict, "training run " + id + " is being recovered", ErrorCategory::user});
  forget(id);
  if (run.client) {
    by_client.emplace(run.client.address(), id);
    self->monitor(run.client);
  }
  entries.emplace(std::move(id), Entry{.run = std::move(run)});
  return Done{};
}

void RecoveryMonitorState::forget(const std::string& run) {
  auto node = entries.extract(run);
  if (node.empty() || !node.mapped().run.client)
    return;
  auto address = node.mapped().run.client.address();
  by_client.erase(address);
  self->demonitor(address);
}

void RecoveryMonitorState::rate(const std::string& run, RatedCheckpoint checkpoint) {
  if (auto found = entries.find(run); found != entries.end())
    found->second.run.rated.push_back(std::move(checkpoint));
}

RecoveryStatus RecoveryMonitorState::status() const {
  RecoveryStatus result{.recovered = recovered_count, .given_up = given_up_count};
  for (const auto& [id, entry] : entries)
    (entry.recovering ? result.recovering : result.watched).push_back(id);
  return result;
}

// --- how the runs are ----------------------------------------------------------------------------

void RecoveryMonitorState::ask_all() {
  for (auto& [id, entry] : entries) {
    if (entry.asking || entry.recovering)
      continue;
    entry.asking = true;
    self->request(settings.rest, caf::infinite, GetTrainingRun{.training_run_id = id})
        .then([this, id = id](const TrainingRun& run) { on_run(id, run); },
              [this, id = id](const caf::error& error) { on_poll_error(id, from_caf(error)); });
  }
}

void RecoveryMonitorState::on_run(const std::string& id, const TrainingRun& run) {
  auto found = entries.find(id);
  if (found == entries.end())
    return;
  auto& entry = found->second;
  entry.asking = false;
  entry.unknown = false;
  if (run.last_checkpoint)
    entry.last_checkpoint = run.last_checkpoint->tinker_path;
  if (run.corrupted)
    detect(id, "the service says that it is corrupted"
                   + (run.corrupted_reason ? ": " + *run.corrupted_reason : std::string{}));
}

void RecoveryMonitorState::on_poll_error(const std::string& id, const Error& error) {
  auto found = entries.find(id);
  if (found == entries.end())
    return;
  auto& entry = found->second;
  entry.asking = false;
  if (!std::exchange(entry.unknown, true)) // told once, not at each poll
    tell(settings, {RecoveryEventKind::poll_error, id, 0, to_string(error)});
}

void RecoveryMonitorState::on_down(const caf::down_msg& down) {
  if (executor && down.source == executor.address())
    return on_executor_down(down.reason);
  auto found = by_client.find(down.source);
  if (found == by_client.end())
    return;
  auto id = found->second;
  if (is_breakage(down.reason))
    detect(id, "its client broke: " + describe_exit(down.reason));
  else if (!entries.at(id).recovering)
    forget(id); // it was ended on purpose
}

// --- recovering ----------------------------------------------------------------------------------

void RecoveryMonitorState::detect(const std::string& id, const std::string& reason) {
  auto& entry = entries.at(id);
  if (std::exchange(entry.recovering, true))
    return;
  tell(settings, {RecoveryEventKind::detected, id, 0, reason});
  hand_over(id);
}

void RecoveryMonitorState::hand_over(const std::string& id) {
  auto found = entries.find(id);
  if (found == entries.end() || !found->second.recovering)
    return;
  if (!executor) {
    executor = self->spawn(recovery_executor, settings, draw);
    self->monitor(executor);
  }
  const auto& entry = found->second;
  self->request(executor, caf::infinite, RecoverRun{entry.run, entry.last_checkpoint})
      .then([this](RecoveredRun& recovered) { on_recovered(std::move(recovered)); },
            [this, id](const caf::error& error) {
              auto reason = from_caf(error);
              // That of an executor which is no more: `on_executor_down` sees to it.
              if (reason.code != Errc::cancelled)
                on_given_up(id, reason);
            });
}

void RecoveryMonitorState::on_recovered(RecoveredRun recovered) {
  executor_restarts = {};
  auto node = entries.extract(recovered.old_run_id);
  if (!node.empty()) {
    auto run = std::move(node.mapped().run);
    if (run.client) {
      by_client.erase(run.client.address());
      self->demonitor(run.client.address());
    }
    run.training_run_id = recovered.training_run_id;
    run.client = recovered.client;
    run.checkpoint.clear(); // its own checkpoints will be newer
    by_client.emplace(run.client.address(), run.training_run_id);
    self->monitor(run.client);
    entries.insert_or_assign(recovered.training_run_id,
                             Entry{.run = std::move(run), .last_checkpoint = recovered.checkpoint});
  }
  ++recovered_count;
  tell(settings,
       {RecoveryEventKind::completed, recovered.old_run_id, 0, recovered.training_run_id});
  call(settings.callbacks.on_recovery, recovered);
}

void RecoveryMonitorState::on_given_up(const std::string& id, const Error& error) {
  forget(id);
  ++given_up_count;
  tell(settings, {RecoveryEventKind::exhausted, id, 0, to_string(error)});
  call(settings.callbacks.on_failure, id, error);
}

void RecoveryMonitorState::on_executor_down(const caf::error& reason) {
  executor = nullptr;
  auto delay = executor_restarts.next_delay(restarts, self->clock().now());
  std::vector<std::string> open;
  for (const auto& [id, entry] : entries)
    if (entry.recovering)
      open.push_back(id);
  for (const auto& id : open) {
    if (delay)
      self->delayed_send(self, *delay, atom::retry_v, id);
    else
      on_given_up(id, {Errc::gave_up, "its recovery broke too often: " + caf::to_string(reason)});
  }
}

RecoveryMonitorActor::behavior_type recovery_monitor(RecoveryMonitorState::SelfPointer self,
                                                     RecoverySettings settings,
                                                     std::function<double()> draw) {
  end_on_exception(self);
  auto interval = settings.policy.poll_interval;
  self->state.settings = std::move(settings);
  self->state.draw = std::move(draw);
  self->set_down_handler([self](const caf::down_msg& x) { self->state.on_down(x); });
  self->delayed_send(self, interval, atom::tick_v);
  return {
      [self](WatchedRun& run) { return self->state.watch(std::move(run)); },
      [self](atom::forget, const std::string& run) { self->state.forget(run); },
      [self](atom::rate, const std::string& run, RatedCheckpoint& checkpoint) {
        self->state.rate(run, std::move(checkpoint));
      },
      [self](atom::status) { return self->state.status(); },
      [self, interval](atom::tick) {
        self->delayed_send(self, interval, atom::tick_v);
        self->state.ask_all();
      },
      [self](atom::retry, const std::string& run) { self->state.hand_over(run); },
  };
}

Result<RecoveryMonitorActor> spawn_recovery(caf::actor_system& system, RecoverySettings settings) {
  if (auto checked = validate(settings.policy); !checked)
    return fail(std::move(checked.error()));
  return RecoveryMonitorActor{
      system.spawn(recovery_monitor, std::move(settings), std::function<double()>{random_draw})};
}

} // namespace tinkaf

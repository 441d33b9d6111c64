// SPDX-License-Identifier: Apache-2.0
#include "client/recovery.hpp"

#include "actors/recovery_monitor.hpp"
#include "client/access.hpp"

#include <utility>

namespace tinkaf {

/// Ends the monitor with the last handle.
struct RecoveryMonitor::Impl {
  Impl(std::shared_ptr<Runtime> r, RecoveryMonitorActor a)
      : runtime(std::move(r)), actor(std::move(a)) {}

  ~Impl() {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::shared_ptr<Runtime> runtime;
  RecoveryMonitorActor actor;
};

RecoveryMonitor::RecoveryMonitor(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<RecoveryMonitor> RecoveryMonitor::start(const Service& service, RecoveryPolicy policy,
                                               RecoveryHandlers handlers) {
  const auto& runtime = ClientAccess::impl(service).runtime;
  auto rest
      = runtime->ask<RestClientActor>("create_rest_client", runtime->session(), atom::rest_client_v)
            .get();
  if (!rest)
    return fail(std::move(rest.error()));
  RecoveryCallbacks callbacks;
  callbacks.on_event = std::move(handlers.on_event);
  callbacks.on_failure = std::move(handlers.on_failure);
  if (handlers.on_recovery)
    // The monitor is one of the runtime's own actors and must not keep it alive.
    callbacks.on_recovery = [weak = std::weak_ptr{runtime},
                             on_recovery
                             = std::move(handlers.on_recovery)](const RecoveredRun& run) {
      if (auto alive = weak.lock())
        on_recovery({run.old_run_id,
                     ClientAccess::make<TrainingClient>({alive, run.client, run.training_run_id}),
                     run.checkpoint});
    };
  Result<RecoveryMonitorActor> actor;
  Runtime::apart([&] {
    actor = spawn_recovery(runtime->system(), {.policy = std::move(policy),
                                               .callbacks = std::move(callbacks),
                                               .notices = runtime->notices(),
                                               .session = runtime->session(),
                                               .rest = std::move(*rest)});
  });
  if (!actor)
    return fail(std::move(actor.error()));
  return RecoveryMonitor{std::make_shared<const Impl>(runtime, std::move(*actor))};
}

Result<void> RecoveryMonitor::watch(const TrainingClient& client, std::string checkpoint) const {
  const auto& watched = ClientAccess::impl(client);
  auto done = impl_->runtime
                  ->ask<Done>("watch", impl_->actor,
                              WatchedRun{.training_run_id = watched.model_id,
                                         .client = watched.actor,
                                         .checkpoint = std::move(checkpoint)})
                  .get();
  if (!done)
    return fail(std::move(done.error()));
  return {};
}

void RecoveryMonitor::forget(const std::string& training_run_id) const {
  caf::anon_send(impl_->actor, atom::forget_v, training_run_id);
}

void RecoveryMonitor::rate(const std::string& training_run_id, RatedCheckpoint checkpoint) const {
  caf::anon_send(impl_->actor, atom::rate_v, training_run_id, std::move(checkpoint));
}

Result<RecoveryStatus> RecoveryMonitor::status() const {
  return impl_->runtime->ask<RecoveryStatus>("status", impl_->actor, atom::status_v).get();
}

} // namespace tinkaf

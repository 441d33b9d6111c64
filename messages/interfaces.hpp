// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/caf_types.hpp"
#include "messages/call_status.hpp"
#include "messages/client_metrics.hpp"
#include "messages/clients.hpp"
#include "messages/custom_loss.hpp"
#include "messages/jobs.hpp"
#include "messages/ledger.hpp"
#include "messages/linear_loss.hpp"
#include "messages/poll_job.hpp"
#include "messages/rest_caf_types.hpp"
#include "messages/sample_stream.hpp"
#include "messages/sampling.hpp"
#include "messages/session.hpp"
#include "messages/supervision.hpp"
#include "messages/telemetry.hpp"
#include "messages/training.hpp"

#include <cstdint>
#include <string>
#include <vector>

// Who can be asked for what. An answer is the value named, or an `Error` as `caf::error` (see
// `from_caf`). Each request is answered exactly once, with `Errc::cancelled` if its actor ends.
// Messages marked INTERNAL are what an actor tells itself.

namespace tinkaf {

/// Tells the service what happened to a session, in batches and in the background. Takes nothing
/// down with it and never keeps anybody waiting.
using TelemetryActor = caf::typed_actor<
    // Takes a report, or drops it if too many wait.
    Handles<void(TelemetryReport)>,
    // Sends what there is now.
    Handles<void(atom::flush)>,
    // Sends what there is and answers once it is gone: true, or false if that fails or takes longer
    // than the limit.
    Handles<bool(atom::drain, caf::timespan)>,
    // Counts.
    Handles<TelemetryStatus(atom::status)>,
    // INTERNAL: time for a batch.
    Handles<void(atom::tick)>,
    // INTERNAL: the pause before the next try is over.
    Handles<void(atom::retry)>,
    // INTERNAL: the limit of a drain is over.
    Handles<void(atom::timeout)>>;

/// Makes HTTP calls, adds the credential and repeats what failed for the moment. Gives up the calls
/// of an actor that has ended.
using HttpActor = caf::typed_actor<
    // Makes a call until it succeeds or its retry policy gives up; the answer is always 2xx.
    Handles<HttpResponse(HttpCall)>,
    // Makes one try; any status is an answer, except that a 402 is waited out.
    Handles<HttpResponse(HttpRequest)>,
    // Exchanges the credential for a short-lived token, which calls carry from then on and which is
    // renewed in time; answers true once it is there. With the flag, the credential is what the
    // credential command prints, even if there is a key.
    Handles<bool(atom::exchange, bool)>,
    // INTERNAL: time to renew the token.
    Handles<void(atom::renew)>,
    // INTERNAL: the credential command has ended.
    Handles<void(atom::credential, CredentialOutcome)>,
    // The session is gone: fails all calls that need it, those to come too, with this error.
    Handles<void(atom::lost, Error)>,
    // Reports calls that fail for good, polls excepted.
    Handles<void(atom::report_to, TelemetryActor)>,
    // What the calls have come to, restarts of pollers excepted; with the flag, counting starts
    // anew.
    Handles<ClientMetrics(atom::metrics, bool)>,
    // Sets how long calls wait for an account without credit.
    Handles<void(atom::max_pause, caf::timespan)>,
    // Who the credential speaks for, by the claims of its token.
    Handles<WhoamiResponse(atom::whoami)>,
    // INTERNAL: a try has ended.
    Handles<void(atom::http_done, std::uint64_t, HttpOutcome)>,
    // INTERNAL: the pause before the next try is over.
    Handles<void(atom::http_retry, std::uint64_t)>>;

/// Lends bytes of a total that actors share. What one holds comes back when it ends, if not before.
using ByteBudgetActor = caf::typed_actor<
    // Takes that many bytes (a negative number counts as 0), waiting for as long as too many are
    // lent; answers with the name of the grant.
    Handles<std::uint64_t(atom::acquire, std::int64_t)>,
    // Gives a grant back.
    Handles<void(atom::release, std::uint64_t)>,
    // Sets the total anew; grants stay.
    Handles<void(atom::resize, std::int64_t)>>;

/// Waits for one result, then stops. Says nothing if it breaks: only a supervisor, which monitors
/// it, may ask it.
using PollerActor = caf::typed_actor<
    // Polls until the result is there or certain not to come.
    Handles<FutureValue(PollJob)>,
    // INTERNAL: the pause before the next poll is over.
    Handles<void(atom::poll)>>;

/// One job of a poller supervisor.
struct PollerStatus {
  std::string request_id;
  RequestType type = RequestType::forward_backward;

  /// Who waits, and for which of its calls.
  caf::actor_addr caller;
  std::uint64_t call = 0;

  QueueState queue_state = QueueState::unknown;
  std::string queue_state_reason;

  /// Who polls; invalid between a crash and the restart.
  PollerActor poller;

  std::uint32_t restarts = 0;

  /// Why its last poller broke; empty if none has.
  std::string last_reason;
};

/// What became of an actor that is started again when it breaks.
struct SupervisionEvent {
  /// Its lasting address.
  caf::actor_addr who;

  /// Whether it runs again, or has broken.
  bool running = false;

  /// Breakages until now.
  std::uint32_t breakages = 0;

  /// Why it broke; empty if it runs.
  std::string reason;

  /// By what it is known from now on; empty for no change.
  std::string name;
};

/// Keeps the promises of those who wait for results and starts broken pollers again.
using PollerSupervisorActor = caf::typed_actor<
    // Answers once the result is there, however often its poller breaks meanwhile, or with
    // `Errc::gave_up` where it breaks more often than the restart policy allows.
    Handles<FutureValue(PollJob)>,
    // Tells what is being waited for.
    Handles<PollerStatuses(atom::status)>,
    // Tells what the sender waits for under this `PollJob::call`.
    Handles<CallStatus(atom::status, std::uint64_t)>,
    // Reports results that fail for good.
    Handles<void(atom::report_to, TelemetryActor)>,
    // How often pollers were started again, those of answered jobs too; with the flag, counting
    // starts anew.
    Handles<std::uint64_t(atom::metrics, bool)>,
    // Gives up what the sender waits for under this `PollJob::call`; answers it with
    // `Errc::cancelled` and tells the service nothing.
    Handles<void(atom::cancel, std::uint64_t)>,
    // INTERNAL: a poller has seen its operation's queue state change.
    Handles<void(QueueStateChange)>,
    // INTERNAL: the pause before a poller's restart is over.
    Handles<void(atom::restart, std::uint64_t)>>;

/// Lets samples be submitted: not too many at once, and none while the service asks to slow down.
/// One for all sampling clients of a session. What one holds comes back when it ends.
using SamplingGateActor = caf::typed_actor<
    // Asks to submit a sample of that estimated size in bytes; answers with the name of the grant
    // once it may be submitted.
    Handles<std::uint64_t(atom::acquire, std::int64_t)>,
    // The service refused that submission for the moment and asked for that wait (0 for none):
    // nobody submits meanwhile. Answers true once it may be tried again.
    Handles<bool(atom::back_off, std::uint64_t, caf::timespan)>,
    // The submission is over.
    Handles<void(atom::release, std::uint64_t)>,
    // Sets the bytes that may be on their way at a time.
    Handles<void(atom::resize, std::int64_t)>,
    // INTERNAL: a grant's wait is over, or with 0 that of the queue.
    Handles<void(atom::look, std::uint64_t)>>;

/// Draws from one set of weights. Gives up the samples of an asker that has ended.
using SamplingClientActor = caf::typed_actor<
    // Opens the sampling session; answers with its id.
    Handles<std::string(atom::open)>,
    // Asks for continuations; calls run side by side.
    Handles<SampleResponse(SampleRequest)>,
    // Log-probability of each prompt token; the first is empty.
    Handles<PromptLogprobs(atom::compute_logprobs, ModelInput)>,
    // The name of the model below the weights.
    Handles<std::string(atom::get_base_model)>,
    // Gives up the call that the sender made by the request of this id (see `call_id`).
    Handles<void(atom::cancel, std::uint64_t)>,
    // Tells how far that call is.
    Handles<CallStatus(atom::status, std::uint64_t)>,
    // INTERNAL: the pause before a sample is submitted again is over.
    Handles<void(atom::restart, std::uint64_t)>,
    // INTERNAL: time to see whether samples still end.
    Handles<void(atom::look)>>;

/// Draws samples for a source of requests, some at a time; see `sample_stream`.
using SampleStreamActor = caf::typed_actor<
    // The next sample that has ended, in the order in which they end; an empty one behind the last.
    Handles<SampleStreamNext(atom::next)>,
    // INTERNAL: what the source has given.
    Handles<void(DrawnRequest)>>;

/// Reads and manages what the service keeps: runs, checkpoints, sessions, usage. Needs no session.
/// Arguments are checked before anything is sent.
using RestClientActor = caf::typed_actor<
    // Reads the service's settings and exchanges the credential if it wants that; also when asked
    // again.
    Handles<Done(atom::open)>, Handles<TrainingRun(GetTrainingRun)>,
    // One page.
    Handles<TrainingRunsResponse(ListTrainingRuns)>,
    // All checkpoints of a run.
    Handles<CheckpointsListResponse(ListCheckpoints)>,
    // One page of the checkpoints of all runs.
    Handles<CheckpointsListResponse(ListUserCheckpoints)>, Handles<Done(DeleteCheckpoint)>,
    // Fails at once with `Errc::conflict` if the checkpoint is public already.
    Handles<Done(PublishCheckpoint)>,
    // Fails at once with `Errc::conflict` if the checkpoint is not public.
    Handles<Done(UnpublishCheckpoint)>, Handles<Done(SetCheckpointTtl)>,
    // Waits up to ten minutes for an archive that is still being built.
    Handles<CheckpointArchiveUrlResponse(GetCheckpointArchiveUrl)>,
    // Fetches a checkpoint's archive and unpacks it; ends with the client.
    Handles<DownloadedCheckpoint(DownloadCheckpoint)>,
    // What a checkpoint was made of; others' public ones too.
    Handles<WeightsInfoResponse(WeightsInfoRequest)>, Handles<GetSessionResponse(GetSession)>,
    // One page.
    Handles<ListSessionsResponse(ListSessions)>, Handles<Done(AssignSessionProject)>,
    // Waits until the export is ready; answers with its signed URL.
    Handles<std::string(ExportSessionTrace)>, Handles<GetSamplerResponse(GetSampler)>,
    // Needs an administrator's key.
    Handles<AuditLogResponse(GetAuditLog)>, Handles<BillingUsageResponse(GetBillingUsage)>,
    // Who the credential speaks for; asks nobody.
    Handles<WhoamiResponse(atom::whoami)>,
    // INTERNAL: a pause is over.
    Handles<void(atom::wake, std::uint64_t)>>;

/// Remembers what a training client has sent, so that another can go on from there; see
/// `AttachTrainingClient`. What is noted before the client is handed out has served to make its
/// model, and is settled by then.
using LedgerActor = caf::typed_actor<
    // Notes numbers before their requests leave; answers when the note is safe. With an error, the
    // operation fails with it and nothing is sent. A number that is noted again belongs to the
    // later turn: its first request never left.
    Handles<Done(NumberedTurn)>,
    // The service has the request of that number; this is the name of its result.
    Handles<void(atom::accepted, std::int64_t, FutureRef)>>;

/// Trains one model. Operations take effect in the order in which their messages arrive.
using TrainingClientActor = caf::typed_actor<
    // Creates the model; answers with its id, also when asked again. What arrives behind it waits.
    Handles<std::string(atom::open)>,
    // Loss, outputs and gradient, which is added to the model's own.
    Handles<ForwardBackwardOutput(atom::forward_backward, ForwardBackwardInput)>,
    // The same without a gradient.
    Handles<ForwardBackwardOutput(atom::forward, ForwardBackwardInput)>,
    // The gradient of a loss that the user computes; see `CustomLosses`. Given up if the asker
    // ends before the function has returned.
    Handles<ForwardBackwardOutput(atom::custom_loss, Batch, CustomLossFn)>,
    // Applies the gathered gradient and clears it.
    Handles<OptimStepResponse(AdamParams)>,
    // Saves weights and optimizer under a name.
    Handles<SaveWeightsResponse(atom::save_state, std::string, SaveWeightsOptions)>,
    // Loads a checkpoint by its path; with the optimizer's state if the flag is set.
    Handles<LoadWeightsResponse(atom::load_state, std::string, bool)>,
    // Saves weights to sample from under a name; answers with the path.
    Handles<SaveWeightsForSamplerResponse(atom::save_for_sampler, std::string, SaveWeightsOptions)>,
    // Saves weights to sample from under no name; answers with a sampling session.
    Handles<SaveWeightsForSamplerResponse(atom::save_for_sampler)>,
    // The same; answers with a client that samples from them.
    Handles<SamplingClientActor(atom::get_sampler)>,
    // What the service knows of the model.
    Handles<ModelInfo(atom::get_info)>,
    // Frees the model at the service, behind all operations that came before.
    Handles<UnloadModelResponse(atom::unload)>,
    // Gives up the call that the sender made by the request of this id (see `call_id`). Nothing is
    // sent to say so: an operation keeps its place, its number and its effect.
    Handles<void(atom::cancel, std::uint64_t)>,
    // Tells how far that call is.
    Handles<CallStatus(atom::status, std::uint64_t)>,
    // INTERNAL: the function of a custom loss has returned.
    Handles<void(atom::computed, std::uint64_t, LinearLossOutcome)>>;

/// A session with the service: keeps it alive, numbers and starts its clients.
///
/// The root of supervision: it starts again what breaks below it (see `RestartPolicies`). It is not
/// started again itself: when it ends, however that is, all its actors end with it, and what was
/// asked of them is answered with `Errc::cancelled`. `SessionRecord` and `AttachTrainingClient` let
/// another session go on.
using SessionActor = caf::typed_actor<
    // Opens the session, a new one or the one that it was to go on with; answers with its id, also
    // when asked again.
    Handles<std::string(atom::open)>,
    // Creates an adapter on a base model.
    Handles<TrainingClientActor(CreateLoraTrainingClient)>,
    // Creates an adapter from a training checkpoint.
    Handles<TrainingClientActor(CreateTrainingClientFromState)>,
    // Goes on with a model that a client which is no more has trained; see there. Asks the service
    // what the model is an adapter of, if that is not said.
    Handles<TrainingClientActor(AttachTrainingClient)>,
    // The same three with a ledger that notes the numbers of the operations.
    Handles<TrainingClientActor(CreateLoraTrainingClient, LedgerActor)>,
    Handles<TrainingClientActor(CreateTrainingClientFromState, LedgerActor)>,
    Handles<TrainingClientActor(AttachTrainingClient, LedgerActor)>,
    // Opens weights to sample from.
    Handles<SamplingClientActor(CreateSamplingClient)>,
    // A client for calls without a session: works whether the session is open or not.
    Handles<RestClientActor(atom::rest_client)>,
    // What the service offers.
    Handles<ServerCapabilities(atom::capabilities)>,
    // Draws the next number of a sampling session; the only source of them.
    Handles<std::int64_t(atom::sampler_number)>,
    // What another session needs in order to go on with this one, as of now.
    Handles<SessionRecord(atom::record)>,
    // Who waits for the results of all clients.
    Handles<PollerSupervisorActor(atom::poller_supervisor)>,
    // The service takes no protobuf: clients to come begin with JSON.
    Handles<void(atom::json_only)>,
    // What all calls have come to; with the flag, counting starts anew.
    Handles<ClientMetrics(atom::metrics, bool)>,
    // Ends the session: heartbeats stop, what is under way is answered with `Errc::cancelled`,
    // telemetry gets a moment. Answers when all is done; true if all telemetry is gone.
    Handles<bool(atom::close)>,
    // Who is supervised by whom, with restarts and reasons.
    Handles<SupervisionTree(atom::tree)>,
    // INTERNAL: a part has broken, or runs again.
    Handles<void(SupervisionEvent)>,
    // INTERNAL: time for a sign of life.
    Handles<void(atom::heartbeat)>,
    // INTERNAL: time to ask for the dynamic configuration again.
    Handles<void(atom::refresh)>>;

/// One start of a job. Only a supervisor of jobs, which monitors it, may ask it.
using TrainingJobActor = caf::typed_actor<
    // Runs the job's function; answers how it ended.
    Handles<JobEnd(atom::run)>,
    // Asks the function to come to an end.
    Handles<void(atom::stop)>,
    // INTERNAL: the function has returned.
    Handles<void(atom::ended, JobOutcome)>>;

/// Runs jobs side by side, starts them again when they break, and tells how they are.
using JobSupervisorActor = caf::typed_actor<
    // Takes a job, which runs as soon as there is room; `Errc::conflict` if there is one of its
    // name.
    Handles<Done(StartJob)>,
    // Lets a job finish what is under way and stops it; answers at once.
    Handles<Done(atom::pause, std::string)>,
    // Lets a paused job go on.
    Handles<Done(atom::resume, std::string)>,
    // Stops a job for good; answers at once.
    Handles<Done(atom::cancel, std::string)>,
    // Forgets a job that is at its end.
    Handles<Done(atom::remove, std::string)>,
    // Answers when a job is at its end.
    Handles<JobStatus(atom::wait, std::string)>,
    // How all jobs are.
    Handles<JobStatuses(atom::status)>,
    // INTERNAL: a start of a job tells how far it is.
    Handles<void(atom::progress, std::string, std::uint64_t, JobProgress)>,
    // INTERNAL: the function of a start has returned.
    Handles<void(atom::ended, std::string, std::uint64_t)>,
    // INTERNAL: the pause before a restart is over.
    Handles<void(atom::restart, std::string, std::uint64_t)>>;

} // namespace tinkaf

CAF_BEGIN_TYPE_ID_BLOCK(tinkaf_handles, caf::id_block::tinkaf::end)

  CAF_ADD_TYPE_ID(tinkaf_handles, (tinkaf::ByteBudgetActor))
  CAF_ADD_TYPE_ID(tinkaf_handles, (tinkaf::LedgerActor))
  CAF_ADD_TYPE_ID(tinkaf_handles, (tinkaf::PollerSupervisorActor))
  CAF_ADD_TYPE_ID(tinkaf_handles, (tinkaf::RestClientActor))
  CAF_ADD_TYPE_ID(tinkaf_handles, (tinkaf::SamplingClientActor))
  CAF_ADD_TYPE_ID(tinkaf_handles, (tinkaf::SamplingGateActor))
  CAF_ADD_TYPE_ID(tinkaf_handles, (tinkaf::TelemetryActor))
  CAF_ADD_TYPE_ID(tinkaf_handles, (tinkaf::TrainingClientActor))

CAF_END_TYPE_ID_BLOCK(tinkaf_handles)

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/custom_loss.hpp"
#include "messages/error.hpp"
#include "messages/future.hpp"
#include "messages/visible_text.hpp"

#include <caf/allowed_unsafe_message_type.hpp>
#include <caf/atom.hpp>
#include <caf/detail/type_list.hpp>
#include <caf/error.hpp>
#include <caf/make_message.hpp>
#include <caf/replies_to.hpp>
#include <caf/type_id.hpp>
#include <caf/typed_actor.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// What is peculiar to CAF 0.17: signatures, type ids, atoms, errors. All else in the project speaks
// of CAF in words that later releases have too.

namespace tinkaf {

struct AttachTrainingClient;
struct CallStatus;
struct ClientMetrics;
struct CreateLoraTrainingClient;
struct CreateSamplingClient;
struct CreateTrainingClientFromState;
struct HttpCall;
struct HttpRequest;
struct HttpResponse;
enum class JobEnd : std::uint8_t;
struct JobProgress;
struct JobStatus;
struct LinearLoss;
struct ModelInfo;
struct NumberedRequest;
struct PollerStatus;
struct PollJob;
class Secret;
struct QueueStateChange;
struct SampleStreamNext;
struct ServerCapabilities;
struct StartJob;
struct SessionRecord;
struct SupervisionEvent;
struct SupervisionTree;
struct TelemetryReport;
struct TelemetryStatus;

/// The logprobs of a prompt, one entry per token.
using PromptLogprobs = std::vector<std::optional<float>>;

/// What a run of the credential command gave; shared, so that no message holds a credential.
using CredentialOutcome = std::shared_ptr<Result<Secret>>;

/// How one HTTP exchange ended; shared, since it travels from the HTTP thread to an actor.
using HttpOutcome = std::shared_ptr<Result<HttpResponse>>;

/// What a source of samples gave: a request, nothing at its end, or an error; shared, since it
/// travels from the source's thread to an actor.
using DrawnRequest = std::shared_ptr<Result<std::optional<SampleRequest>>>;

/// What came of a custom loss; shared, since it travels from its thread to an actor.
using LinearLossOutcome = std::shared_ptr<Result<LinearLoss>>;

/// How a start of a job ended; shared, since it travels from its thread to an actor.
using JobOutcome = std::shared_ptr<Result<JobEnd>>;

using JobStatuses = std::vector<JobStatus>;

/// The requests of one turn of a training client; see messages/ledger.hpp.
using NumberedTurn = std::vector<NumberedRequest>;

/// State of all pollers at one moment.
using PollerStatuses = std::vector<PollerStatus>;

template <class Signature>
struct HandlesImpl;

template <class Answer, class... Args>
struct HandlesImpl<Answer(Args...)> {
  using Type = typename caf::replies_to<Args...>::template with<Answer>;
};

template <class... Args>
struct HandlesImpl<void(Args...)> {
  using Type = caf::reacts_to<Args...>;
};

/// One message of a typed actor, written as the function that it resembles.
template <class Signature>
using Handles = typename HandlesImpl<Signature>::Type;

/// True if actors of that type take that message.
template <class Actor, class Signature>
inline constexpr bool takes
    = caf::detail::tl_index_of<typename Actor::signatures, Handles<Signature>>::value >= 0;

} // namespace tinkaf

CAF_BEGIN_TYPE_ID_BLOCK(tinkaf, caf::first_custom_type_id)

  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::AdamParams))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::AttachTrainingClient))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::Batch))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::CallStatus))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::ClientMetrics))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::CreateLoraTrainingClient))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::CreateSamplingClient))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::CreateTrainingClientFromState))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::CredentialOutcome))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::CustomLossFn))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::DrawnRequest))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::Error))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::ForwardBackwardInput))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::ForwardBackwardOutput))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::FutureValue))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::HttpCall))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::HttpOutcome))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::HttpRequest))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::HttpResponse))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::JobEnd))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::JobOutcome))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::JobProgress))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::JobStatus))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::JobStatuses))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::LinearLossOutcome))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::LoadWeightsResponse))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::ModelInfo))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::ModelInput))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::FutureRef))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::NumberedTurn))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::OptimStepResponse))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::PollJob))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::PollerStatuses))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::PromptLogprobs))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::QueueStateChange))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::SampleRequest))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::SampleResponse))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::SampleStreamNext))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::SaveWeightsForSamplerResponse))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::SaveWeightsOptions))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::SaveWeightsResponse))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::ServerCapabilities))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::StartJob))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::SessionRecord))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::SupervisionEvent))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::SupervisionTree))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::TelemetryReport))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::TelemetryStatus))
  CAF_ADD_TYPE_ID(tinkaf, (tinkaf::UnloadModelResponse))

  // Bare commands, and what tells two messages of the same values apart: at most 10 characters.
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, accepted, "accepted")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, acquire, "acquire")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, back_off, "backoff")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, cancel, "cancel")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, capabilities, "servercaps")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, close, "close")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, compute_logprobs, "logprobs")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, credential, "credential")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, computed, "computed")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, custom_loss, "customloss")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, drain, "drain")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, ended, "ended")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, exchange, "exchange")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, flush, "flush")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, remove, "remove")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, forward, "forward")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, forward_backward, "fwdbwd")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, get_base_model, "basemodel")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, get_info, "getinfo")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, get_sampler, "getsampler")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, heartbeat, "heartbeat")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, http_done, "httpdone")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, http_retry, "httpretry")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, json_only, "jsononly")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, load_state, "loadstate")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, lost, "lost")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, look, "look")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, max_pause, "maxpause")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, metrics, "metrics")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, next, "next")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, open, "open")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, opened, "opened")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, pause, "pause")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, poll, "poll")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, poller_supervisor, "pollersup")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, progress, "progress")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, record, "record")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, release, "release")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, refresh, "refresh")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, renew, "renew")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, resize, "resize")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, report_to, "reportto")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, restart, "restart")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, resume, "resume")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, retry, "retry")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, run, "run")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, sampler_number, "samplerseq")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, save_for_sampler, "savesamp")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, save_state, "savestate")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, settled, "settled")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, setup, "setup")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, status, "status")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, stop, "stop")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, tick, "tick")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, timeout, "timeout")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, tree, "tree")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, unload, "unload")
  CAF_ADD_ATOM(tinkaf, tinkaf::atom, wait, "wait")

CAF_END_TYPE_ID_BLOCK(tinkaf)

// All messages stay within the process: what crosses to another machine goes over HTTP.
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::AdamParams)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::AttachTrainingClient)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::Batch)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::CallStatus)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ClientMetrics)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::CreateLoraTrainingClient)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::CreateSamplingClient)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::CreateTrainingClientFromState)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::CredentialOutcome)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::CustomLossFn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::DrawnRequest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::Error)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ForwardBackwardInput)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ForwardBackwardOutput)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::FutureValue)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::HttpCall)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::HttpOutcome)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::HttpRequest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::HttpResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::JobEnd)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::JobOutcome)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::JobProgress)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::JobStatus)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::JobStatuses)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::LinearLossOutcome)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::LoadWeightsResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ModelInfo)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ModelInput)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::FutureRef)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::NumberedTurn)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::OptimStepResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::PollJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::PollerStatuses)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::PromptLogprobs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::QueueStateChange)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::SampleRequest)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::SampleResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::SampleStreamNext)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::SaveWeightsForSamplerResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::SaveWeightsOptions)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::SaveWeightsResponse)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::ServerCapabilities)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::StartJob)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::SessionRecord)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::SupervisionEvent)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::SupervisionTree)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::TelemetryReport)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::TelemetryStatus)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(tinkaf::UnloadModelResponse)

namespace tinkaf {

/// Our errors as CAF carries them; every field travels along, texts made `visible`.
[[nodiscard]] inline caf::error to_caf(Error error) {
  error.message = visible(error.message);
  error.request_id = visible(error.request_id);
  auto code = static_cast<std::uint8_t>(error.code);
  return {code, caf::atom("tinkaf"), caf::make_message(std::move(error))};
}

/// True if an actor answered with an `Error` of ours; false if CAF raised it because one broke.
[[nodiscard]] inline bool is_ours(const caf::error& error) {
  return error.category() == caf::atom("tinkaf");
}

/// What an actor answered with; an error of CAF's own becomes `cancelled` where the actor was gone,
/// else `internal`.
[[nodiscard]] inline Error from_caf(const caf::error& error) {
  if (is_ours(error) && error.context().match_elements<Error>())
    return error.context().get_as<Error>(0);
  auto gone = error.category() == caf::atom("exit")
              || (error.category() == caf::atom("system")
                  && error.code() == static_cast<std::uint8_t>(caf::sec::request_receiver_down));
  if (gone)
    return {.code = Errc::cancelled, .message = "the client was shut down before an answer came"};
  return {.code = Errc::internal,
          .message = "an actor broke: " + caf::to_string(error.category()) + " error "
                     + std::to_string(error.code()),
          .category = ErrorCategory::server};
}

} // namespace tinkaf

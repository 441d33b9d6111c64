// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/http_actor.hpp"
#include "messages/clients.hpp"
#include "messages/requests.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

// The operations of a training client: what is sent, what an answer means, and the arithmetic of a
// custom loss. Values in, values out: no state, no sending, no waiting; the submit lane does that.
// docs/operations.md sets them against the operations of Tinkex, whose names they have.
//
// A call that is wrong in itself is `Errc::invalid_argument`, naming the field; an answer that is
// not understood is `Errc::protocol_error`, naming the operation and showing the answer.

namespace tinkaf::operations {

/// What an operation needs to know of its client.
struct Target {
  std::string model_id;
  RetryPolicy retry;
  std::chrono::milliseconds timeout{60'000};

  /// Training passes travel as protobuf, else as JSON.
  bool protobuf = true;

  /// Protobuf bodies are compressed with zstd.
  bool compress = false;
};

// --- the model -----------------------------------------------------------------------------------

/// Asks for the model that a client is to train.
[[nodiscard]] Result<HttpCall> ensure_model(const CreateModelRequest& request,
                                            const Target& target);

/// Asks for a model that is made from a checkpoint.
[[nodiscard]] Result<HttpCall> ensure_model(const LoadWeightsRequest& request,
                                            const Target& target);

/// Asks what a checkpoint was made of; `read_weights_info` reads the answer. Made under the access
/// token of the request if it has one.
[[nodiscard]] HttpCall weights_info_request(const LoadWeightsRequest& from, const Target& target);

[[nodiscard]] HttpCall get_info_request(const Target& target);
[[nodiscard]] HttpCall unload_model_request(const Target& target);

// --- what is sent --------------------------------------------------------------------------------

/// A part of a batch, with its gradient. The batch is one that `check_batch` has passed.
[[nodiscard]] Result<HttpCall> send_forward_backward_request(const BatchSlice& chunk,
                                                             const ForwardBackwardInput& input,
                                                             std::int64_t seq_id,
                                                             const Target& target);

/// The same without a gradient.
[[nodiscard]] Result<HttpCall> send_forward_request(const BatchSlice& chunk,
                                                    const ForwardBackwardInput& input,
                                                    std::int64_t seq_id, const Target& target);

[[nodiscard]] Result<HttpCall> send_optim_step_request(const AdamParams& adam_params,
                                                       std::int64_t seq_id, const Target& target);

[[nodiscard]] Result<HttpCall> send_save_state_request(const std::string& name,
                                                       const SaveWeightsOptions& options,
                                                       std::int64_t seq_id, const Target& target);

/// @param weights_access_token of the account that the checkpoint belongs to, if it is another
[[nodiscard]] Result<HttpCall>
send_load_state_request(const std::string& path, bool with_optimizer,
                        const std::optional<std::string>& weights_access_token, std::int64_t seq_id,
                        const Target& target);

/// A save to sample from: under a name, or for a sampling session of its own, of that number.
struct SamplerSave {
  std::optional<std::string> path;
  std::optional<std::int64_t> sampling_session_seq_id;
  SaveWeightsOptions options;

  /// Whether `normalize_save_weights_opts` would take a number.
  [[nodiscard]] bool needs_number() const noexcept {
    return !path && !sampling_session_seq_id;
  }
};

[[nodiscard]] Result<HttpCall> send_save_weights_for_sampler_request(const SamplerSave& save,
                                                                     std::int64_t seq_id,
                                                                     const Target& target);

/// Gives a save that has neither name nor number the number `counter` and moves that on. There is
/// one counter in a session, which the session actor keeps.
[[nodiscard]] SamplerSave normalize_save_weights_opts(SamplerSave save, std::int64_t& counter);

// --- what an answer means ------------------------------------------------------------------------

/// What an answer to a submission holds: the name of the result, or the result itself.
using Submitted = std::variant<FutureRef, FutureValue>;

/// Reads the answer to any submission; one that names a future is that, whatever else is in it.
///
/// A service may answer with the result at once where it needs no work: to saves and loads, and to
/// what creates and unloads models. An error has `ambiguous` set where the answer is no JSON
/// object, so that it may not have been the service that gave it.
[[nodiscard]] Result<Submitted> read_submission(RequestType type, const HttpResponse& response);

[[nodiscard]] Result<Submitted> handle_save_state_response(const HttpResponse& response);
[[nodiscard]] Result<Submitted> handle_load_state_response(const HttpResponse& response);
[[nodiscard]] Result<Submitted> handle_save_weights_response(const HttpResponse& response);

/// Checks that a saved set of weights can be sampled from and says how: by its sampling session,
/// which is there already, else by its path.
[[nodiscard]] Result<CreateSamplingClient>
start_sampling_client_from_save(const SaveWeightsForSamplerResponse& saved);

/// Joins the results of a batch's parts, in the order of the parts.
[[nodiscard]] Result<ForwardBackwardOutput> combine_outputs(std::vector<FutureValue> parts);

// --- custom losses -------------------------------------------------------------------------------

/// The batch as its forward pass sends it: `target_tokens` and `weights` only, which are zeros of
/// the shape of `target_tokens` where a datum has none. The very same batch if it is so already.
[[nodiscard]] Batch forward_data_for_custom_loss(const Batch& data);

/// Joins what the polls of a forward pass have given, in the order of its chunks (they run side by
/// side, see `SubmitLane`), to the log-probabilities of each datum's targets, of the targets'
/// shape.
/// @returns `Errc::protocol_error` naming the datum that has none, or none of that shape
[[nodiscard]] Result<std::vector<TensorData>>
poll_forward_custom_loss(std::vector<FutureValue> parts, const std::vector<Datum>& data);

/// The batch whose cross-entropy has the gradient of a custom loss: since the service computes
/// -Σ logprob · weight, the weights are minus the gradients. Inputs and targets stay as they are,
/// all else is dropped.
/// @param gradients dC/dlogprobs of each datum, of the shape of its targets
/// @returns `Errc::invalid_argument` naming the datum whose gradient has a wrong type or shape, or
///   is not finite, or the numbers of both if they differ
[[nodiscard]] Result<Batch> build_linear_loss_data_safe(const std::vector<Datum>& data,
                                                        const std::vector<TensorData>& gradients);

/// A chunk of the backward pass of a custom loss.
[[nodiscard]] Result<HttpCall> send_backward_for_custom_loss(const BatchSlice& linear_data,
                                                             std::int64_t seq_id,
                                                             const Target& target);

/// Puts the metrics of a custom loss beside those of the service; they win over the same name.
[[nodiscard]] ForwardBackwardOutput merge_custom_metrics(ForwardBackwardOutput output,
                                                         const Metrics& metrics);

} // namespace tinkaf::operations

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/http_actor.hpp"
#include "api/client_options.hpp"
#include "messages/requests.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// The operations of a training client, one function for each request and one for each result that
// is more than it seems. No state, no sending: the submit lane does that.

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

/// Asks for the model that a client is to train.
[[nodiscard]] HttpCall ensure_model(const CreateModelRequest& request, const Target& target);

/// Asks for a model that is made from a checkpoint.
[[nodiscard]] HttpCall ensure_model(const LoadWeightsRequest& request, const Target& target);

/// Asks what a checkpoint was made of; `read_weights_info` reads the answer.
[[nodiscard]] HttpCall weights_info_request(const std::string& path, const Target& target);

/// A part of a batch, with its gradient unless `forward_only`.
/// @returns `Errc::invalid_argument` naming datum and field that the wire cannot carry
[[nodiscard]] Result<HttpCall> send_forward_backward_request(const BatchSlice& chunk,
                                                             const ForwardBackwardInput& input,
                                                             bool forward_only, std::int64_t seq_id,
                                                             const Target& target);

/// @returns `Errc::invalid_argument` naming the field
[[nodiscard]] Result<HttpCall> send_optim_step_request(const AdamParams& adam_params,
                                                       std::int64_t seq_id, const Target& target);

[[nodiscard]] HttpCall send_save_state_request(const std::string& name,
                                               const SaveWeightsOptions& options,
                                               std::int64_t seq_id, const Target& target);

[[nodiscard]] HttpCall send_load_state_request(const std::string& path, bool with_optimizer,
                                               std::int64_t seq_id, const Target& target);

/// @param name the checkpoint's name, or absent for a sampling session of its own
/// @param sampling_session_seq_id that session's number; absent if there is a name
[[nodiscard]] HttpCall send_save_weights_for_sampler_request(
    const std::optional<std::string>& name, std::optional<std::int64_t> sampling_session_seq_id,
    const SaveWeightsOptions& options, std::int64_t seq_id, const Target& target);

[[nodiscard]] HttpCall get_info_request(const Target& target);
[[nodiscard]] HttpCall unload_model_request(const Target& target);

/// Checks a batch before it takes a number: not empty, each tensor well-formed and finite.
[[nodiscard]] Result<void> check_batch(const ForwardBackwardInput& input);

/// Joins the results of a batch's parts, in the order of the parts.
[[nodiscard]] Result<ForwardBackwardOutput> combine_outputs(std::vector<FutureValue> parts);

} // namespace tinkaf::operations

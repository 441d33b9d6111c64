// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/http/http_exchange.hpp"
#include "server/service_core.hpp"

// One function a call of the API: reads the body, checks it, and hands the work to the core. The
// body is unpacked already. Bad input is an answer that names field and value.

namespace tinkaf::server::calls {

// session_calls.cpp
HttpReply healthz(ServiceCore& core, const HttpCall& call);
HttpReply client_config(ServiceCore& core, const HttpCall& call);
HttpReply client_dynamic_config(ServiceCore& core, const HttpCall& call);
HttpReply auth_token(ServiceCore& core, const HttpCall& call);
HttpReply get_server_capabilities(ServiceCore& core, const HttpCall& call);
HttpReply telemetry(ServiceCore& core, const HttpCall& call);
HttpReply create_session(ServiceCore& core, const HttpCall& call);
HttpReply session_heartbeat(ServiceCore& core, const HttpCall& call);

// Parts of calls that are also read from the journal.

/// An operation of that type. @pre `type` is one of an operation of a model
[[nodiscard]] Result<Submission> read_submission(RequestType type, const HttpCall& call);

/// How the model comes to be that a call of the type (create_model or load_weights) asks for.
/// @returns as the call is refused
[[nodiscard]] Result<Origin> read_origin(ServiceCore& core, RequestType type,
                                         const std::string& body);

/// What a sample is drawn from.
[[nodiscard]] Result<std::shared_ptr<Sampler>> find_sampler(ServiceCore& core,
                                                            const AsampleRequest& request);

/// What to sample from, by the name of a base or by a path, which decides if both are given.
[[nodiscard]] Result<Sampler> find_weights(ServiceCore& core,
                                           const std::optional<std::string>& base_model,
                                           const std::optional<std::string>& model_path);

/// Reads an operation and hands it to the core.
HttpReply submit(ServiceCore& core, RequestType type, const HttpCall& call);

// The ways of `read_submission`: training_calls.cpp, checkpoint_calls.cpp
[[nodiscard]] Result<Submission> read_pass(const HttpCall& call, bool forward_only);
[[nodiscard]] Result<Submission> read_optim_step(const HttpCall& call);
[[nodiscard]] Result<Submission> read_save_weights(const HttpCall& call);
[[nodiscard]] Result<Submission> read_save_weights_for_sampler(const HttpCall& call);
[[nodiscard]] Result<Submission> read_save_weights_external(const HttpCall& call);
[[nodiscard]] Result<Submission> read_load_weights(const HttpCall& call);

// The ways of `read_origin`: training_calls.cpp, checkpoint_calls.cpp
[[nodiscard]] Result<Origin> created(ServiceCore& core, const CreateModelRequest& request);
[[nodiscard]] Result<Origin> loaded(ServiceCore& core, const LoadWeightsRequest& request);

// training_calls.cpp
HttpReply create_model(ServiceCore& core, const HttpCall& call);
HttpReply get_info(ServiceCore& core, const HttpCall& call);
HttpReply unload_model(ServiceCore& core, const HttpCall& call);
HttpReply forward(ServiceCore& core, const HttpCall& call);
HttpReply forward_backward(ServiceCore& core, const HttpCall& call);
HttpReply optim_step(ServiceCore& core, const HttpCall& call);

// checkpoint_calls.cpp
HttpReply save_weights(ServiceCore& core, const HttpCall& call);
HttpReply save_weights_for_sampler(ServiceCore& core, const HttpCall& call);
HttpReply save_weights_external(ServiceCore& core, const HttpCall& call);
HttpReply load_weights(ServiceCore& core, const HttpCall& call);
HttpReply weights_info(ServiceCore& core, const HttpCall& call);

// sampling_calls.cpp
HttpReply create_sampling_session(ServiceCore& core, const HttpCall& call);
HttpReply asample(ServiceCore& core, const HttpCall& call);
void retrieve_future(ServiceCore& core, const HttpCall& call, const Responder& responder);

// run_calls.cpp
HttpReply finish_session(ServiceCore& core, const HttpCall& call);
HttpReply list_sessions(ServiceCore& core, const HttpCall& call);
HttpReply get_session(ServiceCore& core, const HttpCall& call);
HttpReply assign_project(ServiceCore& core, const HttpCall& call);
HttpReply trace_export(ServiceCore& core, const HttpCall& call);
HttpReply get_sampler(ServiceCore& core, const HttpCall& call);
HttpReply list_runs(ServiceCore& core, const HttpCall& call);
HttpReply get_run(ServiceCore& core, const HttpCall& call);

// stored_calls.cpp
HttpReply list_run_checkpoints(ServiceCore& core, const HttpCall& call);
HttpReply list_checkpoints(ServiceCore& core, const HttpCall& call);
HttpReply delete_checkpoint(ServiceCore& core, const HttpCall& call);
HttpReply set_checkpoint_ttl(ServiceCore& core, const HttpCall& call);
HttpReply publish_checkpoint(ServiceCore& core, const HttpCall& call);
HttpReply unpublish_checkpoint(ServiceCore& core, const HttpCall& call);
HttpReply bare_checkpoint(ServiceCore& core, const HttpCall& call);

// adapter_calls.cpp
HttpReply import_checkpoint(ServiceCore& core, const HttpCall& call);
HttpReply merge_checkpoints(ServiceCore& core, const HttpCall& call);

// archive_calls.cpp
HttpReply copy_weights(ServiceCore& core, const HttpCall& call);
HttpReply search_sessions(ServiceCore& core, const HttpCall& call);
HttpReply checkpoint_archive(ServiceCore& core, const HttpCall& call);
HttpReply external_weights_urls(ServiceCore& core, const HttpCall& call);
HttpReply fetch_archive(ServiceCore& core, const HttpCall& call);

// usage_calls.cpp
HttpReply audit(ServiceCore& core, const HttpCall& call);
HttpReply billing_usage(ServiceCore& core, const HttpCall& call);

} // namespace tinkaf::server::calls

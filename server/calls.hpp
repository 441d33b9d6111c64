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
HttpReply load_weights(ServiceCore& core, const HttpCall& call);
HttpReply weights_info(ServiceCore& core, const HttpCall& call);

// sampling_calls.cpp
HttpReply create_sampling_session(ServiceCore& core, const HttpCall& call);
HttpReply asample(ServiceCore& core, const HttpCall& call);

// run_calls.cpp
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

// archive_calls.cpp
HttpReply checkpoint_archive(ServiceCore& core, const HttpCall& call);
HttpReply fetch_archive(ServiceCore& core, const HttpCall& call);

// usage_calls.cpp
HttpReply audit(ServiceCore& core, const HttpCall& call);
HttpReply billing_usage(ServiceCore& core, const HttpCall& call);

} // namespace tinkaf::server::calls

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_message.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tinkaf {

/// The calls that clients make; paths with an id in them are built by their callers.
enum class Endpoint : std::uint8_t {
  client_config,
  client_dynamic_config,
  auth_token,
  create_session,
  session_heartbeat,
  create_model,
  get_info,
  unload_model,
  forward,
  forward_backward,
  optim_step,
  save_weights,
  load_weights,
  save_weights_for_sampler,
  create_sampling_session,
  asample,
  retrieve_future,
  telemetry,
  get_server_capabilities,
  healthz,
};

/// Returns the path, for example "/api/v1/create_session".
[[nodiscard]] const char* path(Endpoint endpoint) noexcept;

/// Returns "GET" or "POST".
[[nodiscard]] const char* method(Endpoint endpoint) noexcept;

/// True for the calls that keep a session alive, or tell of it: they never wait for others.
[[nodiscard]] bool is_upkeep(std::string_view request_path) noexcept;

/// True for the calls that are of no use once their session has ended.
[[nodiscard]] bool needs_session(std::string_view request_path) noexcept;

/// What to count a call under: its path without what is peculiar to it, for example
/// "training_runs" for "/api/v1/training_runs/run-1?limit=5".
[[nodiscard]] std::string endpoint_name(std::string_view request_path);

/// A call with a JSON body (none for GET) and its standard headers, without credentials.
///
/// `asample` gets the headers of its kind; `retrieve_future` and protobuf bodies need
/// `poll_headers` and `protobuf_headers` in place of `headers`.
[[nodiscard]] HttpRequest
make_request(Endpoint endpoint, std::string body, std::string_view idempotency_key,
             std::chrono::milliseconds timeout = std::chrono::seconds{60});

} // namespace tinkaf

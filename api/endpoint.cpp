// SPDX-License-Identifier: Apache-2.0
#include "api/endpoint.hpp"

#include "api/headers.hpp"

#include <utility>

namespace tinkaf {

const char* path(Endpoint endpoint) noexcept {
  switch (endpoint) {
  case Endpoint::client_config:
    return "/api/v1/client/config";
  case Endpoint::client_dynamic_config:
    return "/api/v1/client/dynamic_config";
  case Endpoint::auth_token:
    return "/api/v1/auth/token";
  case Endpoint::create_session:
    return "/api/v1/create_session";
  case Endpoint::session_heartbeat:
    return "/api/v1/session_heartbeat";
  case Endpoint::create_model:
    return "/api/v1/create_model";
  case Endpoint::get_info:
    return "/api/v1/get_info";
  case Endpoint::unload_model:
    return "/api/v1/unload_model";
  case Endpoint::forward:
    return "/api/v1/forward";
  case Endpoint::forward_backward:
    return "/api/v1/forward_backward";
  case Endpoint::optim_step:
    return "/api/v1/optim_step";
  case Endpoint::save_weights:
    return "/api/v1/save_weights";
  case Endpoint::load_weights:
    return "/api/v1/load_weights";
  case Endpoint::save_weights_for_sampler:
    return "/api/v1/save_weights_for_sampler";
  case Endpoint::create_sampling_session:
    return "/api/v1/create_sampling_session";
  case Endpoint::asample:
    return "/api/v1/asample";
  case Endpoint::retrieve_future:
    return "/api/v1/retrieve_future";
  case Endpoint::telemetry:
    return "/api/v1/telemetry";
  case Endpoint::get_server_capabilities:
    return "/api/v1/get_server_capabilities";
  case Endpoint::healthz:
    return "/api/v1/healthz";
  }
  return "/";
}

const char* method(Endpoint endpoint) noexcept {
  return endpoint == Endpoint::get_server_capabilities || endpoint == Endpoint::healthz ? "GET"
                                                                                        : "POST";
}

bool is_upkeep(std::string_view request_path) noexcept {
  for (auto endpoint : {Endpoint::session_heartbeat, Endpoint::auth_token,
                        Endpoint::client_dynamic_config, Endpoint::telemetry})
    if (request_path == path(endpoint))
      return true;
  return false;
}

bool needs_session(std::string_view request_path) noexcept {
  for (auto endpoint :
       {Endpoint::create_model, Endpoint::get_info, Endpoint::unload_model, Endpoint::forward,
        Endpoint::forward_backward, Endpoint::optim_step, Endpoint::save_weights,
        Endpoint::load_weights, Endpoint::save_weights_for_sampler,
        Endpoint::create_sampling_session, Endpoint::asample, Endpoint::retrieve_future})
    if (request_path == path(endpoint))
      return true;
  return false;
}

std::string endpoint_name(std::string_view request_path) {
  constexpr std::string_view prefix = "/api/v1/";
  if (!request_path.starts_with(prefix))
    return "other";
  auto name = request_path.substr(prefix.size());
  if (name.starts_with("client/") || name.starts_with("auth/"))
    return std::string{name};
  return std::string{name.substr(0, name.find_first_of("/?"))};
}

HttpRequest make_request(Endpoint endpoint, std::string body, std::string_view idempotency_key,
                         std::chrono::milliseconds timeout) {
  HttpRequest request{.method = method(endpoint), .path = path(endpoint), .timeout = timeout};
  if (request.method == "GET") {
    request.headers = get_headers();
    return request;
  }
  request.headers = endpoint == Endpoint::asample ? sample_headers(idempotency_key)
                                                  : json_headers(idempotency_key);
  request.body = std::make_shared<const std::string>(std::move(body));
  return request;
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "server/service.hpp"

#include "api/wire/compression.hpp"
#include "api/wire/json.hpp"
#include "server/calls.hpp"
#include "server/replies.hpp"
#include "server/unread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <string_view>

namespace tinkaf::server {

namespace {

/// Bodies beyond this are not read on the HTTP threads.
constexpr std::size_t large_body = std::size_t{64} << 10;

constexpr std::string_view prefix = "/api/v1/";
constexpr std::string_view poll_path = "retrieve_future";

struct Route {
  std::string_view path;
  std::string_view method;
  HttpReply (*answer)(ServiceCore&, const HttpCall&);
};

constexpr auto routes = std::to_array<Route>({
    {"healthz", "GET", calls::healthz},
    {"get_server_capabilities", "GET", calls::get_server_capabilities},
    {"client/config", "POST", calls::client_config},
    {"client/dynamic_config", "POST", calls::client_dynamic_config},
    {"telemetry", "POST", calls::telemetry},
    {"create_session", "POST", calls::create_session},
    {"session_heartbeat", "POST", calls::session_heartbeat},
    {"create_model", "POST", calls::create_model},
    {"get_info", "POST", calls::get_info},
    {"unload_model", "POST", calls::unload_model},
    {"forward", "POST", calls::forward},
    {"forward_backward", "POST", calls::forward_backward},
    {"optim_step", "POST", calls::optim_step},
    {"save_weights", "POST", calls::save_weights},
    {"save_weights_for_sampler", "POST", calls::save_weights_for_sampler},
    {"load_weights", "POST", calls::load_weights},
    {"weights_info", "POST", calls::weights_info},
    {"create_sampling_session", "POST", calls::create_sampling_session},
    {"asample", "POST", calls::asample},
    {poll_path, "POST", nullptr},
});

const Route* find_route(const HttpCall& call) {
  std::string_view path{call.path};
  if (!path.starts_with(prefix))
    return nullptr;
  path.remove_prefix(prefix.size());
  const auto* found = std::find_if(routes.begin(), routes.end(),
                                   [path](const Route& route) { return route.path == path; });
  return found == routes.end() ? nullptr : found;
}

/// Takes the same time wherever the texts differ.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned differ = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    differ |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i % b.size()]);
  return differ == 0;
}

std::optional<HttpReply> refuse_key(const HttpCall& call, std::string_view wanted) {
  const auto key = header(call.headers, "x-api-key");
  if (wanted.empty() || same_secret(key, wanted))
    return std::nullopt;
  if (key.empty())
    return error_reply(401, "the header X-API-Key is missing");
  return error_reply(403, "the key in X-API-Key is not that of this server");
}

/// Only what clients of the API send is taken, so that no web page can make a browser use this
/// server.
std::optional<HttpReply> refuse_content(const HttpCall& call) {
  const auto type = header(call.headers, "content-type");
  const bool training = call.path == "/api/v1/forward_backward" || call.path == "/api/v1/forward";
  if (type.empty() || type.find("json") != std::string_view::npos
      || (training && is_protobuf(call)))
    return std::nullopt;
  return error_reply(415, fmt::format("content-type: `{}` is not taken here, but "
                                      "application/json is{}",
                                      type, training ? ", and application/x-protobuf" : ""));
}

HttpReply guarded(HttpReply (*answer)(ServiceCore&, const HttpCall&), ServiceCore& core,
                  const HttpCall& call) {
  try {
    return answer(core, call);
  } catch (const std::exception& error) {
    return error_reply(500, fmt::format("{}: {}", call.path, error.what()));
  }
}

} // namespace

Service::Service(const ServerOptions& options, std::vector<std::shared_ptr<Trainer>> trainers,
                 std::unique_ptr<StateFolder> state)
    : core_(std::make_unique<ServiceCore>(options, std::move(trainers), std::move(state))) {}

Service::~Service() {
  stop();
}

std::optional<HttpReply> Service::refuse(const HttpCall& call) const {
  const auto* route = find_route(call);
  if (route == nullptr)
    return error_reply(404, fmt::format("there is no call {} {}", call.method, call.path));
  if (call.method != route->method) {
    auto reply = error_reply(405, fmt::format("{} is called with {}, not with {}", call.path,
                                              route->method, call.method));
    reply.headers.emplace_back("allow", route->method);
    return reply;
  }
  if (route->answer == calls::healthz)
    return std::nullopt;
  if (auto reply = refuse_key(call, core_->options.api_key))
    return reply;
  return route->method == "POST" ? refuse_content(call) : std::nullopt;
}

void Service::handle(HttpCall call, Responder responder) {
  if (core_->stopping())
    return responder.send(error_reply(503, "the server is stopping"));
  if (call.body.size() <= large_body && header(call.headers, "content-encoding").empty())
    return answer(std::move(call), responder);
  core_->readers.post({},
                      [this, call = std::move(call), responder = std::move(responder)](
                          const std::stop_token&) mutable { answer(std::move(call), responder); });
}

void Service::answer(HttpCall call, const Responder& responder) {
  if (const auto encoding = header(call.headers, "content-encoding"); !encoding.empty()) {
    auto unpacked = wire::decompress(encoding, call.body, core_->options.limits.max_body);
    if (!unpacked)
      return responder.send(
          error_reply(unpacked.error().http_status != 0 ? unpacked.error().http_status : 415,
                      unpacked.error().message));
    call.body = std::move(*unpacked);
  }
  const auto* route = find_route(call);
  if (route->answer != nullptr)
    return responder.send(guarded(route->answer, *core_, call));
  const auto request = wire::from_json<RetrieveFutureRequest>(call.body);
  if (!request)
    return responder.send(error_reply(request.error()));
  core_->futures.poll(request->request_id, request->allow_metadata_only,
                      std::string{header(call.headers, "accept")}, responder,
                      ServiceCore::Clock::now());
}

void Service::tick() {
  core_->tick();
}

void Service::stop() {
  core_->stop();
}

const std::filesystem::path& Service::state_dir() const noexcept {
  return core_->state->dir();
}

} // namespace tinkaf::server

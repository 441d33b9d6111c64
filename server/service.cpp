// SPDX-License-Identifier: Apache-2.0
#include "server/service.hpp"

#include "api/wire/compression.hpp"
#include "server/openai/answer.hpp"
#include "server/replies.hpp"
#include "server/router.hpp"
#include "server/unread.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <exception>
#include <string_view>

namespace tinkaf::server {

namespace {

/// Bodies beyond this are not read on the HTTP threads.
constexpr std::size_t large_body = std::size_t{64} << 10;

/// Takes the same time wherever the texts differ.
bool same_secret(std::string_view a, std::string_view b) {
  unsigned differ = a.size() == b.size() ? 0 : 1;
  for (std::size_t i = 0; i < a.size(); ++i)
    differ |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i % b.size()]);
  return differ == 0;
}

/// What a call shows, in the header of its API.
std::string_view credential_of(const HttpCall& call) {
  constexpr std::string_view scheme = "bearer ";
  const auto key = header(call.headers, "x-api-key");
  auto bearer = header(call.headers, "authorization");
  if (!is_openai(call.path) || !key.empty() || bearer.size() < scheme.size())
    return key;
  for (std::size_t i = 0; i < scheme.size(); ++i)
    if ((bearer[i] | 0x20) != (scheme[i] | 0x20))
      return key;
  bearer.remove_prefix(scheme.size());
  return bearer;
}

/// The answer to a credential that is missing, or that is no longer good.
HttpReply unauthorized(std::string_view detail, const char* challenge) {
  auto reply = error_reply(401, detail);
  reply.headers.emplace_back("www-authenticate", challenge);
  return reply;
}

/// Looks at the key, or at the token for which it was exchanged.
std::optional<HttpReply> refuse_credential(const ServiceCore& core, const HttpCall& call,
                                           Access access) {
  const auto credential = credential_of(call);
  const bool exchanged = access == Access::token && core.options.client_config.pjwt_auth_enabled;
  if (access == Access::open || (!exchanged && core.options.api_key.empty()))
    return std::nullopt;
  if (credential.empty())
    return unauthorized(is_openai(call.path)
                            ? "the header Authorization with a bearer token is missing"
                            : "the header X-API-Key is missing",
                        "Bearer");
  if (!exchanged) {
    if (same_secret(credential, core.options.api_key))
      return std::nullopt;
    constexpr const char* detail = "the key is not that of this server";
    return is_openai(call.path) ? unauthorized(detail, "Bearer") // as OpenAI's servers do
                                : error_reply(403, detail);
  }
  // Clients get another token where RFC 6750 says that this one is the reason.
  constexpr const char* another = R"(Bearer error="invalid_token")";
  switch (core.tokens.check(std::string{credential}, core.wall_now())) {
  case TokenTable::State::good:
    return std::nullopt;
  case TokenTable::State::expired:
    return unauthorized("the token in X-API-Key has expired; get another from auth/token", another);
  case TokenTable::State::unknown:
    break;
  }
  return unauthorized("X-API-Key holds no token of this server; get one from auth/token", another);
}

/// Only what clients of the API send is taken, so that no web page can make a browser use this
/// server.
std::optional<HttpReply> refuse_content(const HttpCall& call) {
  const auto type = header(call.headers, "content-type");
  const bool training = call.path == "/api/v1/forward_backward" || call.path == "/api/v1/forward";
  if (type.empty() || type.find("json") != std::string_view::npos || (training && is_protobuf(call))
      || (call.path == "/api/v1/import_checkpoint" && type == "application/x-tar"))
    return std::nullopt;
  return error_reply(415, fmt::format("content-type: `{}` is not taken here, but "
                                      "application/json is{}",
                                      type, training ? ", and application/x-protobuf" : ""));
}

} // namespace

Service::Service(const ServerOptions& options, std::vector<std::shared_ptr<Trainer>> trainers,
                 std::unique_ptr<StateFolder> state, JournalFolder journal,
                 std::shared_ptr<Faults> faults)
    : core_(std::make_unique<ServiceCore>(options, std::move(trainers), std::move(state),
                                          std::move(journal), std::move(faults))) {}

Service::~Service() {
  stop();
}

std::optional<HttpReply> Service::refuse(const HttpCall& call) const {
  auto refusal = refuse_unread_body(call);
  if (refusal && is_openai(call.path))
    return openai::in_openai_form(std::move(*refusal));
  return refusal;
}

std::optional<HttpReply> Service::refuse_unread_body(const HttpCall& call) const {
  const auto found = find_route(call.method, call.path);
  if (found.methods.empty())
    return error_reply(404, fmt::format("there is no call {} {}", call.method, call.path));
  if (found.route == nullptr) {
    const auto allowed = fmt::format("{}", fmt::join(found.methods, ", "));
    auto reply = error_reply(
        405, fmt::format("{} is called with {}, not with {}", call.path, allowed, call.method));
    reply.headers.emplace_back("allow", allowed);
    return reply;
  }
  if (auto reply = refuse_credential(*core_, call, found.route->access))
    return reply;
  return call.method == "POST" || call.method == "PUT" ? refuse_content(call) : std::nullopt;
}

void Service::handle(HttpCall call, Responder responder) {
  responder = core_->faults->on_the_way(responder);
  if (core_->stopping())
    return responder.send(error_reply(503, "the server is stopping"));
  auto found = find_route(call.method, call.path);
  call.arguments = std::move(found.arguments);
  const auto& route = *found.route;
  if (!route.slow && call.body.size() <= large_body
      && header(call.headers, "content-encoding").empty())
    return answer(route, std::move(call), responder);
  core_->readers.post({}, [this, &route, call = std::move(call),
                           responder = std::move(responder)](const std::stop_token&) mutable {
    answer(route, std::move(call), responder);
  });
}

void Service::answer(const Route& route, HttpCall call, const Responder& responder) {
  if (const auto encoding = header(call.headers, "content-encoding"); !encoding.empty()) {
    auto unpacked = wire::decompress(encoding, call.body, core_->options.limits.max_body);
    if (!unpacked)
      return responder.send(
          error_reply(unpacked.error().http_status != 0 ? unpacked.error().http_status : 415,
                      unpacked.error().message));
    call.body = std::move(*unpacked);
  }
  try {
    if (const auto* now = std::get_if<Answer>(&route.answer))
      responder.send((*now)(*core_, call));
    else
      std::get<LateAnswer>(route.answer)(*core_, call, responder);
  } catch (const std::exception& error) {
    responder.send(error_reply(500, fmt::format("{}: {}", call.path, error.what())));
  }
}

void Service::tick() {
  core_->faults->tick(Faults::Clock::now());
  core_->tick();
}

void Service::stop() {
  core_->stop();
}

const std::filesystem::path& Service::state_dir() const noexcept {
  return core_->state->dir();
}

} // namespace tinkaf::server

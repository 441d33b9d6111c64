// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/json_reader.hpp"
#include "server/calls.hpp"
#include "server/replies.hpp"

#include <fmt/format.h>

// Calls without a model.

namespace tinkaf::server::calls {

namespace {

/// For bodies of which nothing is used.
Result<void> check_object(std::string_view json, std::string_view what) {
  const auto body = wire::parse_json(json, what, Errc::invalid_argument);
  if (!body)
    return fail(body.error());
  if (!body->IsObject())
    return fail(Errc::invalid_argument, fmt::format("{}: must be an object", what));
  return {};
}

} // namespace

HttpReply healthz(ServiceCore&, const HttpCall&) {
  return HttpReply::json(200, R"({"status":"ok"})");
}

HttpReply client_config(ServiceCore& core, const HttpCall& call) {
  if (auto request = wire::from_json<wire::ClientConfigRequest>(call.body); !request)
    return error_reply(request.error());
  return HttpReply::json(200, wire::to_json(core.options.client_config));
}

HttpReply client_dynamic_config(ServiceCore& core, const HttpCall& call) {
  if (auto request = wire::from_json<wire::ClientConfigRequest>(call.body); !request)
    return error_reply(request.error());
  return HttpReply::json(
      200, fmt::format(R"({{"refresh_interval_sec":{}}})", core.options.config_refresh.count()));
}

HttpReply auth_token(ServiceCore& core, const HttpCall& call) {
  if (auto good = check_object(call.body, "auth/token request"); !good)
    return error_reply(good.error());
  return HttpReply::json(200, fmt::format(R"({{"jwt":"{}"}})", core.tokens.issue(core.wall_now())));
}

HttpReply get_server_capabilities(ServiceCore& core, const HttpCall&) {
  ServerCapabilities out;
  for (const auto& trainer : core.trainers)
    out.supported_models.push_back({trainer->name(), trainer->max_context_length()});
  return HttpReply::json(200, wire::to_json(out));
}

/// Keeps nothing of what it is told.
HttpReply telemetry(ServiceCore&, const HttpCall& call) {
  if (auto good = check_object(call.body, "telemetry request"); !good)
    return error_reply(good.error());
  return HttpReply::json(200, R"({"status":"accepted"})");
}

HttpReply create_session(ServiceCore& core, const HttpCall& call) {
  auto request = wire::from_json<CreateSessionRequest>(call.body);
  if (!request)
    return error_reply(request.error());
  const auto session_id
      = core.create_session({std::move(request->project_id), std::move(request->user_metadata)});
  if (!session_id)
    return error_reply(session_id.error());
  return HttpReply::json(200, wire::to_json(CreateSessionResponse{.session_id = *session_id}));
}

HttpReply session_heartbeat(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<SessionHeartbeatRequest>(call.body);
  if (!request)
    return error_reply(request.error());
  if (auto known = core.touch(request->session_id); !known)
    return error_reply(known.error());
  return HttpReply::json(200, wire::to_json(wire::SessionHeartbeatResponse{}));
}

HttpReply finish_session(ServiceCore& core, const HttpCall& call) {
  const auto body = wire::parse_json(call.body, "finish request", Errc::invalid_argument);
  if (!body)
    return error_reply(body.error());
  std::string type;
  if (body->IsObject())
    if (const auto reason = body->FindMember("reason");
        reason != body->MemberEnd() && reason->value.IsObject())
      if (const auto found = reason->value.FindMember("type");
          found != reason->value.MemberEnd() && found->value.IsString())
        type = found->value.GetString();
  if (type != "success" && type != "errored" && type != "interrupted")
    return error_reply(400, "reason.type: must be success, errored or interrupted");
  if (auto done = core.finish_session(call.arguments.at(0)); !done)
    return error_reply(done.error());
  return HttpReply::json(200, "{}");
}

} // namespace tinkaf::server::calls

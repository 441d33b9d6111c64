// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/json_reader.hpp"
#include "api/wire/json_writer.hpp"
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

struct ServedEntry {
  std::string name;
  std::int64_t context = 0;
};

void describe(wire::JsonWriter& v, const ServedEntry& x) {
  v.field("model_name", x.name);
  v.field("max_context_length", x.context);
}

/// Every limit that a client may meet; 0 stands for none.
struct LimitList {
  ServerLimits limits;
};

void describe(wire::JsonWriter& v, const LimitList& list) {
  const auto& x = list.limits;
  const auto count
      = [&v](std::string_view name, std::size_t n) { v.field(name, static_cast<std::int64_t>(n)); };
  const auto seconds = [&v](std::string_view name, std::chrono::milliseconds time) {
    v.field(name, static_cast<double>(time.count()) / 1000.0);
  };
  v.field("max_lora_rank", x.max_lora_rank);
  count("max_models", x.max_models);
  count("max_data", x.max_data);
  count("max_queued_operations", x.max_queued_operations);
  count("max_queued_samples", x.max_queued_samples);
  count("max_body_bytes", x.max_body);
  count("max_connections", x.max_connections);
  count("announce_bytes", x.announce_bytes);
  count("delivered_bytes", x.delivered_bytes);
  seconds("poll_hold_sec", x.poll_hold);
  seconds("gap_sec", x.gap);
  seconds("delivered_retention_sec", x.delivered_retention);
  seconds("undelivered_retention_sec", x.undelivered_retention);
  seconds("expired_memory_sec", x.expired_memory);
  seconds("session_expiry_sec", x.session_expiry);
  seconds("archive_link_sec", x.archive_link);
  seconds("token_life_sec", x.token_life);
  seconds("keep_alive_sec", x.keep_alive);
  seconds("read_stall_sec", x.read_stall);
}

/// What a server says of itself; clients of other services know the models only.
struct Capabilities {
  std::vector<ServedEntry> models;
  LimitList limits;
};

void describe(wire::JsonWriter& v, const Capabilities& x) {
  v.field("supported_models", x.models);
  v.field("limits", x.limits);
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
  Capabilities out{.models = {}, .limits = {core.options.limits}};
  for (const auto& trainer : core.trainers)
    out.models.push_back({trainer->name(), trainer->max_context_length()});
  return HttpReply::json(200, wire::write_json(out));
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
      = core.create_session({std::move(request->project_id), std::move(request->user_metadata),
                             std::move(request->display_name)});
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
  if (auto done = core.finish_session(call.arguments.at(0), type); !done)
    return error_reply(done.error());
  return HttpReply::json(200, "{}");
}

} // namespace tinkaf::server::calls

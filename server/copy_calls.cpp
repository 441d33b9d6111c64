// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_reader.hpp"
#include "api/wire/json_writer.hpp"
#include "server/calls.hpp"
#include "server/digest.hpp"
#include "server/ids.hpp"
#include "server/replies.hpp"
#include "server/request_checks.hpp"

#include <fmt/format.h>

// Copies of checkpoints.

namespace tinkaf::server::calls {

namespace {

struct CopyRequest {
  std::string source_path;
  std::optional<std::string> project_id;
  std::optional<std::string> session_id;
  std::optional<std::int64_t> ttl_seconds;
};

void describe(wire::JsonReader& v, CopyRequest& x) {
  v.field("source_path", x.source_path);
  v.optional("destination_project_id", x.project_id);
  v.optional("session_id", x.session_id);
  v.optional("ttl_seconds", x.ttl_seconds);
}

struct CopyAnswer {
  std::string path;
};

void describe(wire::JsonWriter& v, const CopyAnswer& x) {
  v.field("tinker_path", x.path);
}

/// Gives the weights a second name in a run of their own, which nobody trains.
Result<std::string> copy(ServiceCore& core, const ServiceCore::FoundCheckpoint& from,
                         const CopyRequest& request) {
  const auto now = core.wall_now();
  const TinkerPath path{SessionTable::id_of(make_uuid(), SessionTable::Kind::model, 0),
                        from.path.kind, from.path.name};
  CheckpointInfo info{.base_model = from.info.base_model,
                      .lora_config = from.info.lora_config,
                      .created = now,
                      .user_metadata = from.info.user_metadata};
  if (request.ttl_seconds)
    info.expires = now + std::chrono::seconds{*request.ttl_seconds};
  auto stored = core.state->put(path, std::move(info), [&](const auto& folder) {
    return StateFolder::link(*from.weights, folder);
  });
  if (!stored)
    return fail(std::move(stored.error()));
  core.runs.add({.id = path.training_run_id,
                 .session_id = {},
                 .base_model = from.info.base_model,
                 .lora_config = from.info.lora_config,
                 .project_id = request.project_id,
                 .last_request = now});
  core.audit.note("checkpoint_saved", path, now);
  return path.str();
}

} // namespace

HttpReply copy_weights(ServiceCore& core, const HttpCall& call) {
  const auto request
      = wire::read_json<CopyRequest>(call.body, "copy_weights request", Errc::invalid_argument);
  if (!request)
    return error_reply(request.error());
  if (request->session_id)
    return error_reply(400, "session_id: this server copies to projects only; send "
                            "destination_project_id");
  if (!request->project_id || request->project_id->empty())
    return error_reply(400, "destination_project_id: is missing");
  if (auto good = check_ttl(request->ttl_seconds); !good)
    return error_reply(good.error());
  const auto path = TinkerPath::parse(request->source_path);
  if (!path)
    return error_reply(400, "source_path: " + path.error().message);
  const auto found = core.checkpoint(*path);
  if (!found)
    return error_reply(found.error());
  const auto copied = core.copies.once(std::string{header(call.headers, "x-idempotency-key")},
                                       digest_of("copy_weights", call.body),
                                       [&] { return copy(core, *found, *request); });
  if (!copied)
    return error_reply(copied.error());
  return HttpReply::json(200, wire::write_json(CopyAnswer{*copied}));
}

} // namespace tinkaf::server::calls

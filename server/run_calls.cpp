// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_rest.hpp"
#include "api/wire/json_writer.hpp"
#include "server/calls.hpp"
#include "server/http/uri.hpp"
#include "server/replies.hpp"
#include "server/request_checks.hpp"
#include "server/stored_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>

// What there is and was: sessions, samplers, training runs.

namespace tinkaf::server {

static void describe(wire::JsonWriter& v, const SessionView& x) {
  v.field("session_id", x.id);
  v.field("live", x.live);
  v.unless_empty("ended_reason", x.reason);
  v.field("models", static_cast<std::int64_t>(x.models));
  v.field("samplers", static_cast<std::int64_t>(x.samplers));
  v.field("silent_sec",
          std::int64_t{std::chrono::duration_cast<std::chrono::seconds>(x.silent).count()});
}

static void describe(wire::JsonWriter& v, const SessionContents& x) {
  v.field("training_run_ids", x.training_run_ids);
  v.field("sampler_ids", x.sampler_ids);
  v.field("live", x.view.live);
  v.unless_empty("ended_reason", x.view.reason);
}

} // namespace tinkaf::server

namespace tinkaf::server::calls {

namespace {

constexpr std::int64_t default_page = 20;

/// A run as it is told; its checkpoints come from the disk.
TrainingRun told(const ServiceCore& core, RunRecord record) {
  const auto stored = core.state->list(core.wall_now(), record.id);
  TrainingRun out{.training_run_id = record.id,
                  .base_model = std::move(record.base_model),
                  .model_owner = "local",
                  .is_lora = true,
                  .corrupted = record.damage.has_value(),
                  .last_request_time = record.last_request,
                  .user_metadata = std::move(record.user_metadata),
                  .corrupted_reason = std::move(record.damage)};
  if (record.lora_config.rank > 0)
    out.lora_rank = record.lora_config.rank;
  if (!stored.damaged.empty() && !out.corrupted) {
    out.corrupted = true;
    out.corrupted_reason = "a checkpoint of the run is damaged: " + stored.damaged.begin()->second;
  }
  const auto last = [&](CheckpointKind kind) -> std::optional<Checkpoint> {
    const auto found = std::find_if(stored.checkpoints.begin(), stored.checkpoints.end(),
                                    [kind](const auto& x) { return x.path.kind == kind; });
    if (found == stored.checkpoints.end())
      return std::nullopt;
    return told_checkpoint(*found);
  };
  out.live = core.is_loaded(out.training_run_id);
  out.token_counts = record.tokens;
  out.last_checkpoint = last(CheckpointKind::training);
  out.last_sampler_checkpoint = last(CheckpointKind::sampler);
  return out;
}

/// A page of sessions: their ids for every client, and what this server knows besides.
struct SessionList {
  std::vector<SessionView> views;
};

void describe(wire::JsonWriter& v, const SessionList& x) {
  std::vector<std::string> ids;
  for (const auto& view : x.views)
    ids.push_back(view.id);
  v.field("sessions", ids);
  v.field("details", x.views);
}

} // namespace

HttpReply list_sessions(ServiceCore& core, const HttpCall& call) {
  const auto page = read_page(call, default_page);
  if (!page)
    return error_reply(page.error());
  const auto wanted = query_value(call.query, "include_ended").value_or("false");
  if (wanted != "true" && wanted != "false")
    return error_reply(400,
                       fmt::format("include_ended: must be true or false, but is `{}`", wanted));
  return HttpReply::json(
      200, wire::write_json(SessionList{cut(core.session_views(wanted == "true"), *page).first}));
}

HttpReply get_session(ServiceCore& core, const HttpCall& call) {
  if (auto good = check_access_scope(call); !good)
    return error_reply(good.error());
  const auto session = core.session(call.arguments.at(0));
  return session ? HttpReply::json(200, wire::write_json(*session)) : error_reply(session.error());
}

HttpReply assign_project(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<AssignSessionProjectRequest>(call.body);
  if (!request)
    return error_reply(request.error());
  if (request->project_id.empty())
    return error_reply(400, "project_id: must not be empty; a session cannot leave all projects");
  if (auto moved = core.move_session(call.arguments.at(0), request->project_id); !moved)
    return error_reply(moved.error());
  return HttpReply::json(200, "{}");
}

HttpReply trace_export(ServiceCore& core, const HttpCall& call) {
  if (auto session = core.session(call.arguments.at(0)); !session)
    return error_reply(session.error());
  return HttpReply::json(
      200, wire::to_json(TraceExportResponse{.status = TraceExportStatus::failed,
                                             .error = "the local server records no traces"}));
}

HttpReply get_sampler(ServiceCore& core, const HttpCall& call) {
  const auto sampler = core.sampler(call.arguments.at(0));
  if (!sampler)
    return error_reply(sampler.error());
  return HttpReply::json(200,
                         wire::to_json(GetSamplerResponse{.sampler_id = (*sampler)->id,
                                                          .base_model = (*sampler)->trainer->name(),
                                                          .model_path = (*sampler)->model_path}));
}

HttpReply list_runs(ServiceCore& core, const HttpCall& call) {
  const auto page = read_page(call, default_page);
  if (!page)
    return error_reply(page.error());
  auto records = core.runs.list();
  if (const auto project = query_value(call.query, "project_id"))
    std::erase_if(records, [&](const RunRecord& x) { return x.project_id != project; });
  auto [shown, cursor] = cut(std::move(records), *page);
  TrainingRunsResponse out{.cursor = cursor};
  for (auto& record : shown)
    out.training_runs.push_back(told(core, std::move(record)));
  return HttpReply::json(200, wire::to_json(out));
}

HttpReply get_run(ServiceCore& core, const HttpCall& call) {
  if (auto good = check_access_scope(call); !good)
    return error_reply(good.error());
  auto record = core.runs.find(call.arguments.at(0));
  if (!record)
    return error_reply(404, fmt::format("there is no training run `{}`", call.arguments.at(0)));
  return HttpReply::json(200, wire::to_json(told(core, std::move(*record))));
}

} // namespace tinkaf::server::calls

// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_rest.hpp"
#include "server/calls.hpp"
#include "server/replies.hpp"
#include "server/request_checks.hpp"
#include "server/stored_checkpoint.hpp"

#include <fmt/format.h>

#include <chrono>
#include <functional>

// Checkpoints that are there: lists, expiry, publishing, removal.

namespace tinkaf::server::calls {

namespace {

constexpr std::int64_t default_page = 100;

std::vector<Checkpoint> told(std::vector<StoredCheckpoint> stored) {
  std::vector<Checkpoint> out;
  out.reserve(stored.size());
  for (const auto& x : stored)
    out.push_back(told_checkpoint(x));
  return out;
}

/// The checkpoint that the path of a call names; looked up, so that it is there.
Result<TinkerPath> find(const ServiceCore& core, const HttpCall& call) {
  const auto path = named_checkpoint(call);
  if (!path)
    return path;
  // One that is damaged can be removed.
  if (const auto info = core.checkpoint_info(*path); !info && info.error().code != Errc::io_error)
    return fail(info.error());
  return path;
}

/// Changes the note of a checkpoint and the audit log.
HttpReply change(ServiceCore& core, const TinkerPath& path, const char* event,
                 const std::function<Result<void>(CheckpointInfo&)>& how) {
  const auto now = core.wall_now();
  if (auto done = core.state->change(path, now, how); !done)
    return error_reply(done.error());
  core.audit.note(event, path, now);
  return HttpReply::json(200, "{}");
}

HttpReply set_public(ServiceCore& core, const HttpCall& call, bool wanted) {
  const auto path = find(core, call);
  if (!path)
    return error_reply(path.error());
  return change(core, *path, wanted ? "checkpoint_published" : "checkpoint_unpublished",
                [&](CheckpointInfo& info) -> Result<void> {
                  if (info.is_public == wanted)
                    return fail(Errc::conflict,
                                fmt::format("the checkpoint {} is {} already", path->str(),
                                            wanted ? "public" : "private"));
                  info.is_public = wanted;
                  return {};
                });
}

} // namespace

HttpReply list_run_checkpoints(ServiceCore& core, const HttpCall& call) {
  const auto& run = call.arguments.at(0);
  if (!core.runs.find(run))
    return error_reply(404, fmt::format("there is no training run `{}`", run));
  core.free_expired();
  return HttpReply::json(
      200, wire::to_json(CheckpointsListResponse{
               .checkpoints = told(core.state->list(core.wall_now(), run).checkpoints)}));
}

HttpReply list_checkpoints(ServiceCore& core, const HttpCall& call) {
  const auto page = read_page(call, default_page);
  if (!page)
    return error_reply(page.error());
  core.free_expired();
  auto [shown, cursor] = cut(core.state->list(core.wall_now()).checkpoints, *page);
  return HttpReply::json(200, wire::to_json(CheckpointsListResponse{
                                  .checkpoints = told(std::move(shown)), .cursor = cursor}));
}

HttpReply delete_checkpoint(ServiceCore& core, const HttpCall& call) {
  const auto path = find(core, call);
  if (!path)
    return error_reply(path.error());
  const auto now = core.wall_now();
  if (auto removed = core.state->remove(*path, now); !removed)
    return error_reply(removed.error());
  core.audit.note("checkpoint_deleted", *path, now);
  core.drop_unused_weights();
  return HttpReply{.status = 204};
}

HttpReply set_checkpoint_ttl(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<CheckpointTtlRequest>(call.body);
  if (!request)
    return error_reply(request.error());
  std::optional<std::int64_t> seconds;
  if (request->ttl)
    seconds = request->ttl->count();
  if (auto good = check_ttl(seconds); !good)
    return error_reply(good.error());
  const auto path = find(core, call);
  if (!path)
    return error_reply(path.error());
  return change(
      core, *path, "checkpoint_expiry_changed", [&](CheckpointInfo& info) -> Result<void> {
        info.expires = request->ttl ? std::optional<Timestamp>{core.wall_now() + *request->ttl}
                                    : std::nullopt;
        return {};
      });
}

HttpReply publish_checkpoint(ServiceCore& core, const HttpCall& call) {
  return set_public(core, call, true);
}

HttpReply unpublish_checkpoint(ServiceCore& core, const HttpCall& call) {
  return set_public(core, call, false);
}

HttpReply bare_checkpoint(ServiceCore&, const HttpCall& call) {
  return error_reply(bad_checkpoint_id(call.arguments.at(1)));
}

} // namespace tinkaf::server::calls

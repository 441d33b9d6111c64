// SPDX-License-Identifier: Apache-2.0
#include "server/restoring.hpp"

#include "api/wire/future.hpp"
#include "api/wire/json.hpp"
#include "server/calls.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// Sessions, samplers and results. Models are in restoring_models.cpp.

namespace tinkaf::server {

void Restoring::run() {
  outcomes(core_.loose_log, LogContents::read(*core_.loose_log));
  std::vector<std::pair<Timestamp, Session>> sessions;
  for (const auto& id : core_.journal_.sessions()) {
    auto log = core_.journal_.session_log(id);
    auto contents = LogContents::read(*log);
    const auto first = std::find_if(contents.records.begin(), contents.records.end(),
                                    [](const auto& x) { return x.kind == RecordKind::session; });
    const auto note = first == contents.records.end() ? fail(Errc::io_error, "it has no beginning")
                                                      : from_text<SessionNote>(first->note);
    if (note && note->id == id)
      sessions.emplace_back(note->created, Session{id, std::move(log), std::move(contents)});
    else
      models_without_session(id, contents.damage.value_or("the log of its session is missing"));
  }
  std::sort(sessions.begin(), sessions.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (auto& [created, found] : sessions)
    session(std::move(found));
  // Now that all tables are as they were, somebody else may use them.
  for (const auto& begin : at_end_)
    begin();
}

void Restoring::models_without_session(const std::string& session_id, const std::string& reason) {
  for (const auto number : core_.journal_.models(session_id))
    core_.runs.note_damage(
        SessionTable::id_of(session_id, SessionTable::Kind::model, number),
        fmt::format("what was written down of its session is damaged: {}", reason));
}

void Restoring::session(Session session) {
  const auto& contents = session.contents;
  core_.session_logs_[session.id] = session.log;
  outcomes(session.log, contents);
  std::optional<Timestamp> seen = contents.seen;
  for (const auto& record : contents.records) {
    switch (record.kind) {
    case RecordKind::session:
      if (const auto note = from_text<SessionNote>(record.note)) {
        seen = std::max(seen.value_or(note->created), note->created);
        core_.sessions_.open(session.id, now_,
                             {contents.project_id ? contents.project_id : note->project_id,
                              note->user_metadata, note->display_name, note->created});
      }
      break;
    case RecordKind::model:
      model(session, record);
      break;
    case RecordKind::unloaded:
      unloaded(session, record);
      break;
    case RecordKind::sampler:
      sampler(session, record);
      break;
    case RecordKind::accepted:
    case RecordKind::known:
      sample(session.log, contents, record);
      break;
    default:
      break;
    }
  }
  for (const auto number : core_.journal_.models(session.id)) {
    const auto id = SessionTable::id_of(session.id, SessionTable::Kind::model, number);
    if (!core_.model_logs_.contains(id))
      core_.runs.note_damage(id, fmt::format("what was written down of its session is damaged: {}",
                                             contents.damage.value_or("it does not know the run")));
  }
  if (contents.ended || wall_now_ - seen.value_or(wall_now_) > core_.options.limits.abandoned) {
    const auto reason
        = contents.ended.value_or("since nothing was heard of its session for too long");
    core_.end_session(session.id, reason, !contents.ended);
  }
}

void Restoring::sampler(const Session& session, const LoggedRecord& record) {
  const auto note = from_text<SamplerNote>(record.note);
  if (!note)
    return;
  constexpr auto kind = SessionTable::Kind::sampler;
  core_.sessions_.claim(session.id, kind, note->number, {note->digest, {}});
  const auto base = core_.trainer(note->base_model);
  if (!base)
    return;
  auto out
      = std::make_shared<Sampler>(Sampler{.id = SessionTable::id_of(session.id, kind, note->number),
                                          .session_id = session.id,
                                          .trainer = *base,
                                          .run_id = note->run_id,
                                          .model_path = note->model_path,
                                          .version = note->version,
                                          .log = session.log});
  if (note->weights) {
    out->kept = core_.state->lasting_weights(core_.journal_.file(session.id, *note->weights));
    out->weights = out->kept;
    if (!note->version.empty())
      out->weights = weights_.try_emplace(note->version, out->kept).first->second;
  }
  core_.samplers_[out->id] = std::move(out);
}

void Restoring::sample(const std::shared_ptr<RecordLog>& log, const LogContents& contents,
                       const LoggedRecord& record) {
  const auto note = from_text<RequestNote>(record.note);
  if (!note)
    return;
  std::shared_ptr<Sampler> from;
  if (const auto found = core_.samplers_.find(note->sampler); found != core_.samplers_.end())
    from = found->second;
  if (from && note->number)
    from->samples[*note->number] = {note->digest, note->request_id};
  if (record.kind == RecordKind::known || contents.find(note->request_id) != nullptr)
    return;
  core_.futures.restore_pending(note->request_id, RequestType::sample, log);
  at_end_.push_back([this, from, id = note->request_id, body = record.bytes] {
    const auto request = wire::from_json<AsampleRequest>(body);
    auto sampler = from || !request ? Result<std::shared_ptr<Sampler>>{from}
                                    : calls::find_sampler(core_, *request);
    if (!request)
      core_.futures.finish(id, fail(request.error()), now_);
    else if (!sampler)
      core_.futures.finish(id, fail(std::move(sampler.error())), now_);
    else
      core_.post_sample(*sampler, id, request->sample);
  });
}

void Restoring::outcomes(const std::shared_ptr<RecordLog>& log, const LogContents& contents) {
  std::vector<const std::pair<const std::string, LogContents::Outcome>*> in_order;
  for (const auto& entry : contents.outcomes)
    in_order.push_back(&entry);
  std::sort(in_order.begin(), in_order.end(),
            [](const auto* a, const auto* b) { return a->second.delivered < b->second.delivered; });
  for (const auto* entry : in_order)
    outcome(entry->first, entry->second, log);
}

void Restoring::outcome(const std::string& request_id, const LogContents::Outcome& outcome,
                        const std::shared_ptr<RecordLog>& log) {
  const auto& limits = core_.options.limits;
  if (outcome.note.counts)
    core_.runs.restore_tokens(outcome.note.counts->run_id, outcome.note.counts->tokens);
  if (outcome.bytes.empty() && !outcome.expired)
    return; // forgotten
  auto expires = outcome.delivered ? *outcome.delivered + limits.delivered_retention
                                   : outcome.note.time + limits.undelivered_retention;
  if (outcome.expired)
    expires = *outcome.expired;
  if (expires <= wall_now_) {
    if (expires + limits.expired_memory > wall_now_)
      core_.futures.restore_expired(request_id, instant(expires), log);
    return;
  }
  auto result = wire::read_future(outcome.note.type,
                                  {.status = 200,
                                   .headers = {{"content-type", outcome.note.content_type}},
                                   .body = outcome.bytes});
  if (!result)
    result = FutureFailed{.error = "the result cannot be read: " + result.error().message,
                          .category = ErrorCategory::server};
  std::optional<ServiceCore::Clock::time_point> delivered;
  if (outcome.delivered)
    delivered = instant(*outcome.delivered);
  core_.futures.restore(request_id, std::move(*result), instant(outcome.note.time), delivered,
                        outcome.bytes.size(), log);
}

ServiceCore::Clock::time_point Restoring::instant(Timestamp time) const {
  return now_ - std::max(wall_now_ - time, Timestamp::duration{0}); // clocks may have been set back
}

} // namespace tinkaf::server

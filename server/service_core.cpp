// SPDX-License-Identifier: Apache-2.0
#include "server/service_core.hpp"

#include "server/ids.hpp"
#include "server/journal/records.hpp"
#include "server/replies.hpp"
#include "server/restoring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

// Sessions, time and the end. The rest of the core is in the other files called service_….cpp.

namespace tinkaf::server {

namespace {

/// How often checkpoints that have expired are looked for, besides when they are listed.
constexpr std::chrono::minutes sweep_interval{1};

/// Sessions that have ended are told of as long as they are among the last ones.
constexpr std::size_t most_ended_sessions = 1000;

constexpr const char* stop_reason = "the server is stopping";

tl::unexpected<Error> no_session(const std::string& session_id) {
  return fail(Errc::not_found,
              fmt::format("session_id: there is no session `{}`, or it has ended", session_id));
}

} // namespace

tl::unexpected<Error> not_written(const Error& error) {
  return fail_with(503, fmt::format("the request is not accepted, since it cannot be written down: "
                                    "{}",
                                    error.message));
}

ServiceCore::ServiceCore(const ServerOptions& settings, std::vector<std::shared_ptr<Trainer>> bases,
                         std::unique_ptr<StateFolder> folder, JournalFolder journal,
                         std::shared_ptr<Faults> faults_to_play)
    : options(settings), trainers(std::move(bases)), state(std::move(folder)),
      faults(std::move(faults_to_play)), runs(*state, wall_now()),
      futures(
          settings.limits, [this] { return wall_now(); },
          [this](const std::string& request_id, const RecordLog* log, QueueView& view) {
            look(request_id, log, view);
          }),
      tokens(settings.limits.token_life), snapshots(settings.limits.max_loaded_samplers),
      loose_log(journal.loose_log()), journal_(std::move(journal)) {
  Restoring{*this}.run();
  seen_ = Clock::now();
  computing_.post("journal", [this](const std::stop_token&) { clean_journal(); });
}

Result<std::string> ServiceCore::create_session(SessionNotes notes) {
  const auto id = make_uuid();
  notes.created = wall_now();
  if (auto made = journal_.add(id); !made)
    return not_written(made.error());
  const auto log = journal_.session_log(id);
  if (auto written = append(*log, RecordKind::session,
                            SessionNote{id, notes.created, notes.project_id, notes.user_metadata,
                                        notes.display_name});
      !written) {
    journal_.remove(id);
    return not_written(written.error());
  }
  const std::lock_guard lock{mutex_};
  session_logs_[id] = log;
  sessions_.open(id, Clock::now(), std::move(notes));
  return id;
}

Result<void> ServiceCore::move_session(const std::string& session_id,
                                       const std::string& project_id) {
  if (auto known = touch(session_id); !known)
    return known;
  {
    const std::lock_guard lock{mutex_};
    if (const auto log = session_logs_.find(session_id); log != session_logs_.end())
      if (auto written = append(*log->second, RecordKind::moved, TextNote{project_id}); !written)
        return not_written(written.error());
    sessions_.move(session_id, project_id);
  }
  runs.move(session_id, project_id);
  return {};
}

Result<void> ServiceCore::finish_session(const std::string& session_id, const std::string& how) {
  const std::lock_guard lock{mutex_};
  if (!sessions_.contains(session_id)) {
    const bool ended = std::any_of(ended_sessions_.begin(), ended_sessions_.end(),
                                   [&](const auto& x) { return x.id == session_id; });
    return ended || session_logs_.contains(session_id) ? Result<void>{} : no_session(session_id);
  }
  const std::string reason = "since its client has finished the session";
  if (const auto log = session_logs_.find(session_id); log != session_logs_.end())
    if (auto written = append(*log->second, RecordKind::ended, TextNote{reason}); !written)
      return not_written(written.error());
  end_session(session_id, reason, false);
  ended_sessions_.front().how = how;
  return {};
}

SessionView ServiceCore::view_of(const std::string& session_id) const {
  SessionView out{.id = session_id, .reason = {}};
  out.silent = Clock::now() - sessions_.last_seen(session_id);
  const auto of_session = [&](const auto& entry) { return entry.second->session_id == session_id; };
  out.models = static_cast<std::size_t>(std::count_if(models_.begin(), models_.end(), of_session));
  out.samplers
      = static_cast<std::size_t>(std::count_if(samplers_.begin(), samplers_.end(), of_session));
  return out;
}

std::vector<SessionView> ServiceCore::session_views(bool with_ended) const {
  std::vector<SessionView> out;
  const std::lock_guard lock{mutex_};
  for (const auto& id : sessions_.ids())
    out.push_back(view_of(id));
  if (with_ended)
    for (const auto& ended : ended_sessions_)
      out.push_back({.id = ended.id,
                     .live = false,
                     .reason = ended.reason,
                     .silent = Clock::now() - ended.when});
  return out;
}

std::vector<KnownSession> ServiceCore::known_sessions() const {
  std::vector<KnownSession> out;
  const std::lock_guard lock{mutex_};
  for (const auto& id : sessions_.ids())
    out.push_back({.id = id, .notes = *sessions_.notes(id)});
  for (const auto& ended : ended_sessions_)
    out.push_back({.id = ended.id, .notes = ended.notes, .live = false, .how = ended.how});
  return out;
}

Result<SessionContents> ServiceCore::session(const std::string& session_id) const {
  SessionContents out;
  {
    const std::lock_guard lock{mutex_};
    if (sessions_.contains(session_id)) {
      out.view = view_of(session_id);
    } else {
      const auto ended = std::find_if(ended_sessions_.begin(), ended_sessions_.end(),
                                      [&](const auto& x) { return x.id == session_id; });
      if (ended == ended_sessions_.end())
        return no_session(session_id);
      out.view = {.id = session_id,
                  .live = false,
                  .reason = ended->reason,
                  .silent = Clock::now() - ended->when};
    }
    for (const auto& [id, sampler] : samplers_)
      if (sampler->session_id == session_id)
        out.sampler_ids.push_back(id);
  }
  for (const auto& run : runs.list())
    if (run.session_id == session_id)
      out.training_run_ids.push_back(run.id);
  return out;
}

void ServiceCore::look(const std::string& request_id, const RecordLog* log, QueueView& view) const {
  {
    const std::lock_guard lock{running_mutex_};
    const auto own = std::find_if(running_.begin(), running_.end(),
                                  [&](const RunningWork& x) { return x.request_id == request_id; });
    if (own != running_.end())
      view.running = *own;
    else if (!running_.empty())
      view.running = running_.front();
  }
  const std::lock_guard lock{mutex_};
  const auto found = std::find_if(models_.begin(), models_.end(),
                                  [log](const auto& x) { return x.second->log.get() == log; });
  if (found == models_.end())
    return;
  const auto& model = *found->second;
  if (model.waits_for_room) {
    view.state = QueueState::paused_capacity;
    view.reason = fmt::format("the server holds {} models, which is the most (`max_models`); this "
                              "waits until one is unloaded",
                              options.limits.max_models);
  } else if (model.queue.waits(request_id)) {
    view.state = QueueState::paused_capacity;
    view.reason
        = fmt::format("this waits for the request number {} of its model, which has not "
                      "come; after {} s it is given up",
                      model.queue.next(),
                      std::chrono::duration_cast<std::chrono::seconds>(options.limits.gap).count());
  }
}

ServiceCore::Running::Running(ServiceCore& core, const std::string& request_id, RequestType type)
    : core_(core) {
  const std::lock_guard lock{core_.running_mutex_};
  self_ = core_.running_.insert(core_.running_.end(), {request_id, type, Clock::now()});
}

ServiceCore::Running::~Running() {
  const std::lock_guard lock{core_.running_mutex_};
  core_.running_.erase(self_);
}

Result<void> ServiceCore::touch(const std::string& session_id) {
  const std::lock_guard lock{mutex_};
  if (!sessions_.touch(session_id, Clock::now()))
    return no_session(session_id);
  return {};
}

void ServiceCore::end_session(const std::string& session_id, const std::string& reason,
                              bool write_down) {
  if (const auto log = session_logs_.find(session_id); write_down && log != session_logs_.end())
    (void)append(*log->second, RecordKind::ended, TextNote{reason});
  std::vector<std::shared_ptr<Model>> models;
  for (const auto& [id, model] : models_)
    if (model->session_id == session_id)
      models.push_back(model);
  for (const auto& model : models)
    end_model(model, reason);
  std::erase_if(samplers_,
                [&](const auto& entry) { return entry.second->session_id == session_id; });
  const auto* notes = sessions_.notes(session_id);
  ended_sessions_.push_front({.id = session_id,
                              .reason = reason,
                              .how = {},
                              .when = Clock::now(),
                              .notes = notes != nullptr ? *notes : SessionNotes{}});
  sessions_.close(session_id);
  if (ended_sessions_.size() > most_ended_sessions)
    ended_sessions_.pop_back();
  drop_unused_weights();
}

void ServiceCore::note_pass(const Model& model, std::int64_t count) {
  note_usage(model.session_id, *model.trainer, UsageTable::Kind::trained_tokens, count);
  (void)runs.note_tokens(model.id, {.train = count});
}

void ServiceCore::note_usage(const std::string& session_id, const Trainer& base,
                             UsageTable::Kind kind, std::int64_t count) {
  UsageOwner owner{.session_id = session_id, .base_model = base.name()};
  {
    const std::lock_guard lock{mutex_};
    if (const auto* notes = sessions_.notes(session_id)) {
      owner.project_id = notes->project_id;
      owner.user_metadata = notes->user_metadata;
    }
  }
  usage.note(owner, kind, count, wall_now());
}

void ServiceCore::tick() {
  const auto now = Clock::now();
  futures.tick(now);
  const std::lock_guard lock{mutex_};
  for (const auto& [id, model] : models_)
    if (model->held_until && *model->held_until <= now) {
      model->held_until.reset();
      wake(*model);
    }
  for (const auto& [id, model] : models_)
    if (const auto late = model->queue.expire(now, options.limits.gap)) {
      (void)append(*model->log, RecordKind::given_up, TimeNote{{}, wall_now()});
      give_up(*model, late->operations,
              fmt::format("seq_id: the request number {} of the model never came; those behind it "
                          "are given up",
                          late->missing));
    }
  if (options.limits.session_expiry.count() > 0)
    for (const auto& session_id : sessions_.silent(now, options.limits.session_expiry))
      end_session(session_id, "since its session was silent for too long", true);
  note_seen(now);
  if (now - swept_ >= sweep_interval) {
    swept_ = now;
    readers.post({}, [this](const std::stop_token&) {
      free_expired();
      clean_journal();
    });
  }
}

ServiceCore::~ServiceCore() {
  stop();
  // An operation that waits, for a number or for its model to be used again, holds its model, which
  // holds the operation.
  for (const auto& [id, model] : models_) {
    (void)model->queue.take_waiting();
    model->asleep.reset();
  }
}

void ServiceCore::stop() {
  if (stopping_.exchange(true))
    return;
  state->stay();
  readers.stop();
  computing_.stop();
  sampling_.stop();
  runs.store_all();
  futures.close(stop_reason);
}

} // namespace tinkaf::server

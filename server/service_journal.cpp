// SPDX-License-Identifier: Apache-2.0
#include "server/journal/compaction.hpp"
#include "server/journal/records.hpp"
#include "server/service_core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

// The part of the core that keeps the journal short.

namespace tinkaf::server {

namespace {

/// A state is stored when this many times of what storing it takes was computed.
constexpr int storing_share = 30;

/// How often it is written down that a session is alive.
constexpr std::chrono::minutes seen_interval{10};

/// A log is not looked at before it has grown by so much.
constexpr std::uint64_t small_log = std::uint64_t{4} << 20;

} // namespace

void ServiceCore::store_state(Model& model) {
  const std::chrono::nanoseconds allowed = options.limits.repeated_work;
  const bool much = allowed.count() == 0
                    || (model.unsaved >= allowed && model.unsaved >= storing_share * model.storing);
  if (!model.trained || (!model.store_now && !(much && model.unsaved.count() > 0)))
    return;
  const auto begun = Clock::now();
  const auto name = fmt::format("train-{}.{}", model.number, model.stored_count + 1);
  const auto folder = journal_.file(model.session_id, name);
  runs.store(model.id); // the log will not know any more what the run has used
  auto done = model.trained->save_state(folder);
  if (done)
    done = compact(*model.log, name, futures, wall_now());
  std::error_code ignored;
  model.storing = Clock::now() - begun;
  model.unsaved = {};
  if (!done) { // it is tried again when as much is computed
    std::filesystem::remove_all(folder, ignored);
    return;
  }
  model.store_now = false;
  ++model.stored_count;
  if (!model.stored.empty())
    std::filesystem::remove_all(journal_.file(model.session_id, model.stored), ignored);
  model.stored = name;
}

void ServiceCore::note_seen(Clock::time_point now) {
  if (now - seen_ < seen_interval)
    return;
  for (const auto& [session_id, log] : session_logs_)
    if (sessions_.contains(session_id) && sessions_.last_seen(session_id) > seen_)
      (void)append(*log, RecordKind::seen, TimeNote{{}, wall_now()});
  seen_ = now;
}

void ServiceCore::clean_journal() {
  std::vector<std::shared_ptr<RecordLog>> logs{loose_log};
  {
    const std::lock_guard lock{mutex_};
    // What nobody can ask for any more goes: logs are held by models, samplers and results.
    std::erase_if(model_logs_, [this](const auto& entry) {
      const auto& [id, log] = entry;
      if (!log.expired() || models_.contains(id))
        return false;
      std::error_code ignored;
      std::filesystem::remove(
          journal_.file(SessionTable::session_of(id),
                        fmt::format("train-{}.log", id.substr(id.rfind(':') + 1))),
          ignored);
      return true;
    });
    std::erase_if(session_logs_, [this](const auto& entry) {
      const auto& [session_id, log] = entry;
      const auto of_session
          = [&id = session_id](const auto& x) { return SessionTable::session_of(x.first) == id; };
      if (sessions_.contains(session_id) || log.use_count() > 1
          || std::any_of(model_logs_.begin(), model_logs_.end(), of_session))
        return false;
      journal_.remove(session_id);
      std::erase_if(ended_models_, of_session);
      return true;
    });
    for (const auto& [session_id, log] : session_logs_)
      logs.push_back(log);
    for (const auto& [id, log] : model_logs_)
      if (auto held = log.lock())
        logs.push_back(std::move(held));
  }
  runs.store_all();
  for (const auto& log : logs) {
    auto& before = compacted_[log->path().string()];
    if (log->size() > 2 * before + small_log && compact(*log, {}, futures, wall_now()))
      before = log->size();
  }
}

} // namespace tinkaf::server

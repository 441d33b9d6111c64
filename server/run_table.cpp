// SPDX-License-Identifier: Apache-2.0
#include "server/run_table.hpp"

#include "api/wire/json_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace tinkaf::server {

namespace {

/// A run without a checkpoint is forgotten by a server that starts so long after its last request.
constexpr auto empty_run_life = std::chrono::days{30};

} // namespace

template <wire::JsonVisitor V>
void describe(V& v, wire::Visited<V, RunRecord>& x) {
  v.field("training_run_id", x.id);
  v.field("session_id", x.session_id);
  v.field("base_model", x.base_model);
  v.field("lora_rank", x.lora_config.rank);
  v.field("train_unembed", x.lora_config.train_unembed);
  v.field("train_mlp", x.lora_config.train_mlp);
  v.field("train_attn", x.lora_config.train_attn);
  wire::visit_optional_metadata(v, "user_metadata", x.user_metadata);
  v.optional("project_id", x.project_id);
  wire::visit_time(v, "last_request_time", x.last_request);
  v.optional("damage", x.damage);
  v.defaulted("trained_tokens", x.tokens.train);
  v.defaulted("prompt_tokens", x.tokens.prefill);
  v.defaulted("sampled_tokens", x.tokens.sample);
}

namespace {

Result<RunRecord> read_record(const StateFolder& folder, const std::string& id) {
  const auto text = folder.read_run(id);
  if (!text)
    return fail(text.error());
  auto record = wire::read_json<RunRecord>(*text, "run.json", Errc::io_error);
  if (record && record->id != id)
    return fail(Errc::io_error, fmt::format("run.json: belongs to the run `{}`", record->id));
  return record;
}

/// What can be told of a run without its record.
RunRecord rebuilt(const std::string& id, const std::string& reason,
                  const StoredCheckpoints& checkpoints, Timestamp now) {
  RunRecord out{.id = id, .base_model = "unknown", .last_request = now, .damage = reason};
  if (!checkpoints.checkpoints.empty()) {
    const auto& info = checkpoints.checkpoints.front().info;
    out.base_model = info.base_model;
    out.lora_config = info.lora_config;
    out.last_request = info.created;
  }
  return out;
}

} // namespace

RunTable::RunTable(const StateFolder& folder, Timestamp now) : folder_(folder) {
  for (const auto& id : folder.run_ids()) {
    auto record = read_record(folder, id);
    if (record && record->last_request + empty_run_life > now) {
      runs_[id] = {.record = std::move(*record)};
      continue;
    }
    const auto stored = folder.list(now, id);
    const bool empty = stored.checkpoints.empty() && stored.damaged.empty();
    if (record && empty)
      folder.remove_run(id);
    else if (record)
      runs_[id] = {.record = std::move(*record)};
    else if (folder.has_run(id) || !empty)
      runs_[id]
          = {.record = rebuilt(
                 id, fmt::format("the record of the run is damaged: {}", record.error().message),
                 stored, now),
             .unreadable = true};
  }
}

void RunTable::add(RunRecord record) {
  const auto id = record.id;
  {
    const std::lock_guard lock{mutex_};
    runs_[id] = {.record = std::move(record), .changed = true};
  }
  store(id);
}

void RunTable::note_request(const std::string& id, Timestamp now) {
  const std::lock_guard lock{mutex_};
  if (const auto found = runs_.find(id); found != runs_.end()) {
    found->second.record.last_request = now;
    found->second.changed = true;
  }
}

void RunTable::note_damage(const std::string& id, const std::string& reason) {
  {
    const std::lock_guard lock{mutex_};
    const auto found = runs_.find(id);
    if (found == runs_.end())
      return;
    found->second.record.damage = reason;
    found->second.changed = true;
  }
  store(id);
}

std::optional<TokenCounts> RunTable::note_tokens(const std::string& id, const TokenCounts& more) {
  const std::lock_guard lock{mutex_};
  const auto found = runs_.find(id);
  if (found == runs_.end())
    return std::nullopt;
  auto& tokens = found->second.record.tokens;
  tokens.train += more.train;
  tokens.prefill += more.prefill;
  tokens.sample += more.sample;
  found->second.changed = true;
  return tokens;
}

void RunTable::restore_tokens(const std::string& id, const TokenCounts& least) {
  const std::lock_guard lock{mutex_};
  const auto found = runs_.find(id);
  if (found == runs_.end())
    return;
  auto& tokens = found->second.record.tokens;
  tokens.train = std::max(tokens.train, least.train);
  tokens.prefill = std::max(tokens.prefill, least.prefill);
  tokens.sample = std::max(tokens.sample, least.sample);
  found->second.changed = true;
}

void RunTable::move(const std::string& session_id, const std::string& project_id) {
  {
    const std::lock_guard lock{mutex_};
    for (auto& [id, entry] : runs_)
      if (entry.record.session_id == session_id) {
        entry.record.project_id = project_id;
        entry.changed = true;
      }
  }
  store_all();
}

void RunTable::store(const std::string& id) {
  const std::lock_guard writing{writing_};
  std::string text;
  {
    const std::lock_guard lock{mutex_};
    const auto found = runs_.find(id);
    if (found == runs_.end() || !found->second.changed || found->second.unreadable)
      return;
    found->second.changed = false;
    text = wire::write_json(found->second.record);
  }
  if (folder_.write_run(id, text))
    return;
  const std::lock_guard lock{mutex_};
  runs_[id].changed = true;
}

void RunTable::store_all() {
  for (const auto& run : list())
    store(run.id);
}

std::optional<RunRecord> RunTable::find(const std::string& id) const {
  const std::lock_guard lock{mutex_};
  const auto found = runs_.find(id);
  return found == runs_.end() ? std::nullopt : std::optional{found->second.record};
}

std::vector<RunRecord> RunTable::list() const {
  std::vector<RunRecord> out;
  {
    const std::lock_guard lock{mutex_};
    for (const auto& [id, entry] : runs_)
      out.push_back(entry.record);
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return a.last_request != b.last_request ? a.last_request > b.last_request : a.id < b.id;
  });
  return out;
}

} // namespace tinkaf::server

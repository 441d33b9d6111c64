// SPDX-License-Identifier: Apache-2.0
#include "server/session_table.hpp"

#include "server/ids.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace tinkaf::server {

std::string SessionTable::create(TimePoint now, SessionNotes notes) {
  auto id = make_uuid();
  open(id, now, std::move(notes));
  return id;
}

void SessionTable::open(const std::string& session_id, TimePoint now, SessionNotes notes) {
  auto& session = sessions_[session_id];
  session.last_seen = now;
  session.number = ++count_;
  session.notes = std::move(notes);
}

bool SessionTable::move(const std::string& session_id, const std::string& project_id) {
  const auto it = sessions_.find(session_id);
  if (it == sessions_.end())
    return false;
  it->second.notes.project_id = project_id;
  return true;
}

const SessionNotes* SessionTable::notes(const std::string& session_id) const {
  const auto it = sessions_.find(session_id);
  return it == sessions_.end() ? nullptr : &it->second.notes;
}

std::vector<std::string> SessionTable::ids() const {
  std::map<std::uint64_t, std::string, std::greater<>> by_number;
  for (const auto& [id, session] : sessions_)
    by_number[session.number] = id;
  std::vector<std::string> out;
  for (auto& [number, id] : by_number)
    out.push_back(std::move(id));
  return out;
}

bool SessionTable::touch(const std::string& session_id, TimePoint now) {
  const auto it = sessions_.find(session_id);
  if (it == sessions_.end())
    return false;
  it->second.last_seen = now;
  return true;
}

const SessionTable::Claim* SessionTable::find(const std::string& session_id, Kind kind,
                                              std::int64_t number) const {
  const auto& claims = sessions_.at(session_id).claims;
  const auto it = claims.find({kind, number});
  return it == claims.end() ? nullptr : &it->second;
}

void SessionTable::claim(const std::string& session_id, Kind kind, std::int64_t number,
                         Claim claim) {
  sessions_.at(session_id).claims[{kind, number}] = std::move(claim);
}

std::vector<std::string> SessionTable::silent(TimePoint now,
                                              std::chrono::milliseconds limit) const {
  std::vector<std::string> out;
  for (const auto& [id, session] : sessions_)
    if (now - session.last_seen >= limit)
      out.push_back(id);
  return out;
}

std::string SessionTable::id_of(std::string_view session_id, Kind kind, std::int64_t number) {
  return fmt::format("{}:{}:{}", session_id, kind == Kind::model ? "train" : "sample", number);
}

} // namespace tinkaf::server

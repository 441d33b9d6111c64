// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_reader.hpp"
#include "api/wire/json_time.hpp"
#include "api/wire/json_writer.hpp"
#include "server/calls.hpp"
#include "server/replies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

// A search among the sessions that are open and the last ones that have ended.

namespace tinkaf::server::calls {

namespace {

constexpr const char* local_owner = "local";

struct Owner {
  std::string type;
  std::vector<std::string> owner_urns;
};

void describe(wire::JsonReader& v, Owner& x) {
  v.field("type", x.type);
  v.defaulted("owner_urns", x.owner_urns);
}

struct Status {
  std::string type;
  std::optional<std::vector<std::string>> reasons;
};

void describe(wire::JsonReader& v, Status& x) {
  v.field("type", x.type);
  v.optional("reasons", x.reasons);
}

/// The last session of a page.
struct Place {
  Timestamp created;
  std::string id;
};

void describe(wire::JsonReader& v, Place& x) {
  wire::visit_time(v, "last_created_at", x.created);
  v.field("last_session_id", x.id);
}

void describe(wire::JsonWriter& v, const Place& x) {
  wire::visit_time(v, "last_created_at", x.created);
  v.field("last_session_id", x.id);
}

struct SearchRequest {
  std::optional<std::string> session_id;
  std::optional<std::vector<std::string>> project_ids;
  std::map<std::string, std::string> user_metadata;
  std::optional<std::string> display_name;
  std::optional<Owner> owner;
  std::optional<std::vector<Status>> statuses;
  std::int64_t limit = 50;
  std::optional<Place> cursor;
};

void describe(wire::JsonReader& v, SearchRequest& x) {
  v.optional("session_id", x.session_id);
  v.optional("project_ids", x.project_ids);
  v.defaulted("user_metadata", x.user_metadata);
  v.optional("display_name", x.display_name);
  v.optional("owner", x.owner);
  v.optional("statuses", x.statuses);
  v.defaulted("limit", x.limit);
  v.optional("cursor", x.cursor);
}

/// How a session is, in the words of a search.
struct StatusText {
  const KnownSession& session;
};

void describe(wire::JsonWriter& v, const StatusText& x) {
  v.literal("type", x.session.live ? "active" : "client_finished");
  if (!x.session.live)
    v.object("reason", [&](wire::JsonWriter& reason) { reason.literal("type", x.session.how); });
}

struct Summary {
  const KnownSession& session;
  std::int64_t checkpoints = 0;
  std::int64_t bytes = 0;
};

void describe(wire::JsonWriter& v, const Summary& x) {
  const auto& notes = x.session.notes;
  v.field("session_id", x.session.id);
  wire::visit_time(v, "created_at", notes.created);
  v.literal("owner", local_owner);
  v.field("project_id", notes.project_id.value_or(std::string{}));
  if (x.session.live || !x.session.how.empty())
    v.field("status", StatusText{x.session});
  v.field("checkpoints_count", x.checkpoints);
  v.optional("display_name", notes.display_name);
  wire::visit_optional_metadata(v, "user_metadata", notes.user_metadata);
  v.field("checkpoint_storage_bytes", x.bytes);
}

struct SearchAnswer {
  std::vector<Summary> sessions;
  std::optional<Place> next;
};

void describe(wire::JsonWriter& v, const SearchAnswer& x) {
  v.field("sessions", x.sessions);
  v.optional("next_cursor", x.next);
}

std::string lower(std::string_view text) {
  std::string out{text};
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char x) { return static_cast<char>(std::tolower(x)); });
  return out;
}

/// Whether each word is somewhere in the name, in whatever case.
bool has_words(const std::optional<std::string>& name, std::string_view words) {
  if (!name)
    return false;
  const auto text = lower(*name);
  const auto wanted = lower(words);
  std::size_t at = 0;
  while ((at = wanted.find_first_not_of(" \t\r\n", at)) != std::string::npos) {
    const auto end = std::min(wanted.find_first_of(" \t\r\n", at), wanted.size());
    if (text.find(wanted.substr(at, end - at)) == std::string::npos)
      return false;
    at = end;
  }
  return true;
}

bool has_status(const KnownSession& session, const Status& status) {
  if (status.type == "active")
    return session.live;
  if (status.type != "client_finished" || session.live || session.how.empty())
    return false; // nothing here fails a session or cancels it
  return !status.reasons
         || std::find(status.reasons->begin(), status.reasons->end(), session.how)
                != status.reasons->end();
}

bool matches(const KnownSession& session, const SearchRequest& request) {
  const auto& notes = session.notes;
  const auto within = [](const auto& list, const std::string& x) {
    return std::find(list.begin(), list.end(), x) != list.end();
  };
  if (request.session_id || request.display_name) {
    const bool by_id = request.session_id && *request.session_id == session.id;
    const bool by_name
        = request.display_name && has_words(notes.display_name, *request.display_name);
    if (!by_id && !by_name)
      return false;
  }
  if (request.project_ids
      && !within(*request.project_ids, notes.project_id.value_or(std::string{})))
    return false;
  for (const auto& [name, value] : request.user_metadata)
    if (const auto found = notes.user_metadata.find(name);
        found == notes.user_metadata.end() || found->second != value)
      return false;
  if (request.owner && request.owner->type == "user"
      && !within(request.owner->owner_urns, local_owner))
    return false;
  return !request.statuses
         || std::any_of(request.statuses->begin(), request.statuses->end(),
                        [&](const auto& x) { return has_status(session, x); });
}

Result<void> check(const SearchRequest& request) {
  if (request.limit < 1 || request.limit > 200)
    return fail(Errc::invalid_argument,
                fmt::format("limit: must be in [1, 200], but is {}", request.limit));
  if (request.owner && request.owner->type != "own" && request.owner->type != "accessible"
      && request.owner->type != "user")
    return fail(Errc::invalid_argument,
                fmt::format("owner.type: must be own, accessible or user, but is `{}`",
                            request.owner->type));
  if (request.statuses)
    for (const auto& x : *request.statuses)
      if (x.type != "active" && x.type != "client_finished" && x.type != "failed"
          && x.type != "cancelled")
        return fail(Errc::invalid_argument,
                    fmt::format("statuses: there is no status `{}`; there are: active, "
                                "client_finished, failed, cancelled",
                                x.type));
  return {};
}

Summary summed(const ServiceCore& core, const KnownSession& session,
               const std::vector<RunRecord>& runs) {
  Summary out{session};
  for (const auto& run : runs)
    if (run.session_id == session.id)
      for (const auto& checkpoint : core.state->list(core.wall_now(), run.id).checkpoints) {
        ++out.checkpoints;
        out.bytes += checkpoint.size_bytes;
      }
  return out;
}

} // namespace

HttpReply search_sessions(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::read_json<SearchRequest>(call.body, "sessions/search request",
                                                      Errc::invalid_argument);
  if (!request)
    return error_reply(request.error());
  if (auto good = check(*request); !good)
    return error_reply(good.error());
  auto found = core.known_sessions();
  std::erase_if(found, [&](const auto& x) { return !matches(x, *request); });
  const auto newer = [](const auto& a, const auto& b) {
    return std::tie(a.notes.created, a.id) > std::tie(b.notes.created, b.id);
  };
  std::sort(found.begin(), found.end(), newer);
  if (request->cursor)
    std::erase_if(found, [&](const KnownSession& x) {
      return std::tie(x.notes.created, x.id)
             >= std::tie(request->cursor->created, request->cursor->id);
    });
  const auto runs = core.runs.list();
  SearchAnswer out;
  for (const auto& session : found) {
    if (out.sessions.size() == static_cast<std::size_t>(request->limit)) {
      const auto& last = out.sessions.back().session;
      out.next = Place{last.notes.created, last.id};
      break;
    }
    out.sessions.push_back(summed(core, session, runs));
  }
  return HttpReply::json(200, wire::write_json(out));
}

} // namespace tinkaf::server::calls

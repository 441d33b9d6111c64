// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_rest.hpp"
#include "api/wire/rfc3339.hpp"
#include "server/calls.hpp"
#include "server/http/uri.hpp"
#include "server/replies.hpp"

#include <fmt/format.h>

#include <chrono>

// What was done and used.

namespace tinkaf::server::calls {

namespace {

Result<Timestamp> read_hour(const HttpCall& call, std::string_view name) {
  const auto text = query_value(call.query, name);
  if (!text)
    return fail(Errc::invalid_argument, fmt::format("{}: is missing", name));
  const auto time = wire::parse_rfc3339(*text);
  if (!time)
    return fail(Errc::invalid_argument,
                fmt::format("{}: must be a time of RFC 3339, but is `{}`", name, *text));
  if (*time != std::chrono::floor<std::chrono::hours>(*time))
    return fail(Errc::invalid_argument,
                fmt::format("{}: must be a full hour, but is {}", name, *text));
  return *time;
}

} // namespace

HttpReply audit(ServiceCore& core, const HttpCall& call) {
  const auto type = query_value(call.query, "event_type").value_or("all");
  if (type != "all" && type != "checkpoints")
    return error_reply(400,
                       fmt::format("event_type: must be all or checkpoints, but is `{}`", type));
  auto day = std::chrono::floor<std::chrono::days>(core.wall_now());
  if (const auto text = query_value(call.query, "day")) {
    const auto begin = wire::parse_rfc3339(*text + "T00:00:00Z");
    if (!begin)
      return error_reply(400,
                         fmt::format("day: must be a date like 2026-03-04, but is `{}`", *text));
    day = std::chrono::floor<std::chrono::days>(*begin);
  }
  return HttpReply::json(200, wire::to_json(core.audit.of_day(day)));
}

HttpReply billing_usage(ServiceCore& core, const HttpCall& call) {
  const auto from = read_hour(call, "starting_on");
  if (!from)
    return error_reply(from.error());
  const auto before = read_hour(call, "ending_before");
  if (!before)
    return error_reply(before.error());
  if (*before <= *from || *before - *from > UsageTable::longest)
    return error_reply(400, fmt::format("ending_before: must be at most {} days behind starting_on",
                                        UsageTable::longest.count()));
  const auto json = wire::to_json(core.usage.between(*from, *before));
  return json ? HttpReply::json(200, *json) : error_reply(json.error());
}

} // namespace tinkaf::server::calls

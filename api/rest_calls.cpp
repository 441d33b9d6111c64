// SPDX-License-Identifier: Apache-2.0
#include "api/rest_calls.hpp"

#include "api/headers.hpp"
#include "api/http/http_address.hpp"
#include "api/rest_path.hpp"
#include "api/wire/http_date.hpp"
#include "api/wire/json_rest.hpp"
#include "api/wire/rfc3339.hpp"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace tinkaf {

namespace {

constexpr auto unknown_url_life = std::chrono::minutes{15};
constexpr auto longest_bill = std::chrono::days{14};

RestCall get(const char* what, const RestPath& path) {
  return {what, {.method = "GET", .path = path.str(), .headers = get_headers()}};
}

/// A call that changes something.
RestCall change(const char* what, const char* method, const RestPath& path,
                std::optional<std::string> body = {}) {
  HttpRequest request{
      .method = method, .path = path.str(), .headers = json_headers(make_idempotency_key())};
  if (body)
    request.body = std::make_shared<const std::string>(std::move(*body));
  return {what, std::move(request)};
}

RestPath run_path(std::string_view training_run_id) {
  return RestPath{"training_runs"}.id(training_run_id);
}

RestPath checkpoint_path(const CheckpointRef& checkpoint) {
  return run_path(checkpoint.training_run_id).then("checkpoints").checkpoint(checkpoint);
}

Result<void> check_page(std::int64_t limit, std::int64_t offset) {
  if (limit < 1)
    return fail(Errc::invalid_argument, fmt::format("limit is {}, but must be at least 1", limit));
  if (offset < 0)
    return fail(Errc::invalid_argument,
                fmt::format("offset is {}, but must be at least 0", offset));
  return {};
}

/// The call that `make` makes, unless something is wrong with its arguments.
template <class Make>
Result<RestCall> checked(Result<void> check, Make make) {
  if (!check)
    return fail(std::move(check.error()));
  return make();
}

} // namespace

Result<RestCall> rest_call(const GetTrainingRun& x) {
  return checked(check_run_id(x.training_run_id), [&] {
    return get("get_training_run",
               run_path(x.training_run_id).query("access_scope", to_string(x.access_scope)));
  });
}

Result<RestCall> rest_call(const ListTrainingRuns& x) {
  return checked(check_page(x.limit, x.offset), [&] {
    return get("list_training_runs", RestPath{"training_runs"}
                                         .query("limit", x.limit)
                                         .query("offset", x.offset)
                                         .query("access_scope", to_string(x.access_scope))
                                         .query("project_id", x.project_id.value_or("")));
  });
}

Result<RestCall> rest_call(const ListCheckpoints& x) {
  return checked(check_run_id(x.training_run_id), [&] {
    return get("list_checkpoints", run_path(x.training_run_id).then("checkpoints"));
  });
}

Result<RestCall> rest_call(const ListUserCheckpoints& x) {
  return checked(check_page(x.limit, x.offset), [&] {
    return get("list_user_checkpoints",
               RestPath{"checkpoints"}.query("limit", x.limit).query("offset", x.offset));
  });
}

Result<RestCall> rest_call(const DeleteCheckpoint& x) {
  return checked(check(x.checkpoint), [&] {
    return change("delete_checkpoint", "DELETE", checkpoint_path(x.checkpoint));
  });
}

Result<RestCall> rest_call(const PublishCheckpoint& x) {
  return checked(check(x.checkpoint), [&] {
    return change("publish_checkpoint", "POST", checkpoint_path(x.checkpoint).then("publish"));
  });
}

Result<RestCall> rest_call(const UnpublishCheckpoint& x) {
  return checked(check(x.checkpoint), [&] {
    return change("unpublish_checkpoint", "DELETE", checkpoint_path(x.checkpoint).then("publish"));
  });
}

Result<RestCall> rest_call(const SetCheckpointTtl& x) {
  if (x.ttl && x.ttl->count() <= 0)
    return fail(Errc::invalid_argument,
                fmt::format("ttl is {} s, but must be more than 0; leave it out to keep the "
                            "checkpoint for ever",
                            x.ttl->count()));
  return checked(check(x.checkpoint), [&] {
    return change("set_checkpoint_ttl", "PUT", checkpoint_path(x.checkpoint).then("ttl"),
                  wire::to_json(CheckpointTtlRequest{x.ttl}));
  });
}

Result<RestCall> rest_call(const WeightsInfoRequest& x) {
  auto path = TinkerPath::parse(x.tinker_path);
  if (!path)
    return fail(std::move(path.error()));
  return change("weights_info", "POST", RestPath{"weights_info"}, wire::to_json(x));
}

Result<RestCall> rest_call(const GetSession& x) {
  return checked(check_id("session_id", x.session_id), [&] {
    return get(
        "get_session",
        RestPath{"sessions"}.id(x.session_id).query("access_scope", to_string(x.access_scope)));
  });
}

Result<RestCall> rest_call(const ListSessions& x) {
  return checked(check_page(x.limit, x.offset), [&] {
    return get("list_sessions", RestPath{"sessions"}
                                    .query("limit", x.limit)
                                    .query("offset", x.offset)
                                    .query("access_scope", to_string(x.access_scope)));
  });
}

Result<RestCall> rest_call(const AssignSessionProject& x) {
  if (x.project_id.empty())
    return fail(Errc::invalid_argument,
                "project_id is empty, but a session cannot leave all projects");
  return checked(check_id("session_id", x.session_id), [&] {
    return change("assign_session_project", "PUT",
                  RestPath{"sessions"}.id(x.session_id).then("project"),
                  wire::to_json(AssignSessionProjectRequest{x.project_id}));
  });
}

Result<RestCall> rest_call(const ExportSessionTrace& x) {
  return checked(check_id("session_id", x.session_id), [&] {
    return get("export_session_trace", RestPath{"sessions"}.id(x.session_id).then("trace_export"));
  });
}

Result<RestCall> rest_call(const GetSampler& x) {
  return checked(check_id("sampler_id", x.sampler_id),
                 [&] { return get("get_sampler", RestPath{"samplers"}.id(x.sampler_id)); });
}

Result<RestCall> rest_call(const GetAuditLog& x) {
  auto path = RestPath{"audit"}.query("event_type",
                                      x.event_type == AuditEventType::all ? "all" : "checkpoints");
  if (x.day) {
    auto year = static_cast<int>(x.day->year());
    if (!x.day->ok() || year < 1 || year > 9999)
      return fail(Errc::invalid_argument, "day is no day of the calendar");
    path.query("day", fmt::format("{:04}-{:02}-{:02}", year, static_cast<unsigned>(x.day->month()),
                                  static_cast<unsigned>(x.day->day())));
  }
  return get("get_audit_log", path);
}

Result<void> check(const GetBillingUsage& x) {
  auto whole_hour = [](Timestamp time) {
    return time.time_since_epoch() % std::chrono::hours{1} == std::chrono::microseconds{0};
  };
  for (const auto& [name, time] :
       {std::pair{"starting_on", x.starting_on}, {"ending_before", x.ending_before}})
    if (!whole_hour(time))
      return fail(Errc::invalid_argument,
                  fmt::format("{} is {}, but must be a whole hour", name, wire::to_rfc3339(time)));
  if (x.starting_on >= x.ending_before)
    return fail(Errc::invalid_argument,
                fmt::format("starting_on is {}, but must be before ending_before, {}",
                            wire::to_rfc3339(x.starting_on), wire::to_rfc3339(x.ending_before)));
  if (x.ending_before - x.starting_on > longest_bill)
    return fail(Errc::invalid_argument,
                fmt::format("{} to {} is more than the {} days that one call may span",
                            wire::to_rfc3339(x.starting_on), wire::to_rfc3339(x.ending_before),
                            longest_bill.count()));
  return {};
}

Result<RestCall> rest_call(const GetBillingUsage& x) {
  return checked(check(x), [&] {
    return get("get_billing_usage", RestPath{"billing/usage/events"}
                                        .query("starting_on", wire::to_rfc3339(x.starting_on))
                                        .query("ending_before", wire::to_rfc3339(x.ending_before)));
  });
}

Result<RestCall> rest_call(const GetCheckpointArchiveUrl& x) {
  return checked(check(x.checkpoint), [&] {
    auto call = get("get_checkpoint_archive_url", checkpoint_path(x.checkpoint).then("archive"));
    call.request.follow_redirects = false;
    return call;
  });
}

Result<CheckpointArchiveUrlResponse> read_archive_url(const HttpResponse& response,
                                                      const std::string& asked, Timestamp now) {
  CheckpointArchiveUrlResponse result;
  if (response.status >= 200 && response.status < 300) {
    auto read = wire::from_json<CheckpointArchiveUrlResponse>(response.body);
    if (!read)
      return read;
    result = std::move(*read);
  } else {
    const auto* location = response.header("location");
    if (location == nullptr || location->empty())
      return fail(Errc::protocol_error,
                  fmt::format("archive answer: HTTP {} without a Location", response.status));
    result.url = *location;
    result.expires = now + unknown_url_life;
    const auto* expires = response.header("expires");
    if (auto time = expires ? wire::parse_http_date(*expires) : std::nullopt)
      result.expires = std::chrono::floor<std::chrono::microseconds>(*time);
  }
  auto whole = resolve(asked, result.url);
  if (!whole)
    return fail(Errc::protocol_error, "archive answer: " + whole.error().message);
  result.url = std::move(*whole);
  return result;
}

} // namespace tinkaf

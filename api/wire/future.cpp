// SPDX-License-Identifier: Apache-2.0
#include "api/wire/future.hpp"

#include "api/overloaded.hpp"
#include "api/wire/error_body.hpp"
#include "api/wire/json.hpp"
#include "api/wire/json_reader.hpp"
#include "api/wire/json_results.hpp"
#include "api/wire/json_writer.hpp"
#include "api/wire/protobuf.hpp"

#include <fmt/format.h>

#include <map>

namespace tinkaf::wire {

namespace {

constexpr std::string_view json_type = "application/json";
constexpr std::string_view protobuf_type = "application/x-protobuf";

bool names_protobuf(const std::string* header) {
  return header != nullptr && header->find(protobuf_type) != std::string::npos;
}

std::string_view text_member(const rapidjson::Value& body, std::string_view name) {
  const auto* found = find_member(body, name);
  return found != nullptr && found->IsString() ? text_of(*found) : std::string_view{};
}

FuturePending pending_from(const rapidjson::Value& body, const HttpResponse& response) {
  FuturePending out{.queue_state = parse_queue_state(text_member(body, "queue_state")),
                    .queue_state_reason = std::string{text_member(body, "queue_state_reason")},
                    .retry_after = read_retry_after(response, std::chrono::system_clock::now())};
  const auto* wait = find_member(body, "retry_after_ms");
  if (!out.retry_after && wait != nullptr && wait->IsUint())
    out.retry_after = std::chrono::milliseconds{wait->GetUint()};
  return out;
}

FutureFailed failed_from(const rapidjson::Value& body, const rapidjson::Value& error) {
  std::string text;
  if (error.IsString())
    text = text_of(error);
  else if (error.IsObject() && !text_member(error, "message").empty())
    text = text_member(error, "message");
  else
    text = dump(error);
  return {.error = std::move(text),
          .category = parse_error_category(text_member(body, "category"))};
}

Result<FuturePoll> read_protobuf(RequestType type, std::string_view body) {
  auto to_poll = [](auto&& x) { return FuturePoll{FutureValue{std::forward<decltype(x)>(x)}}; };
  switch (type) {
  case RequestType::forward:
  case RequestType::forward_backward:
    return forward_backward_output_from_protobuf(body).map(to_poll);
  case RequestType::sample:
    return sample_response_from_protobuf(body).map(to_poll);
  default:
    return fail(
        Errc::protocol_error,
        fmt::format("the result of {} came as protobuf, but must be JSON", to_string(type)));
  }
}

Result<FuturePoll> read_json_poll(RequestType type, const HttpResponse& response) {
  auto what = fmt::format("answer to a poll for {}", to_string(type));
  auto body = parse_json(response.body, what, Errc::protocol_error);
  if (!body)
    return fail(std::move(body.error()));
  if (!body->IsObject())
    return fail(Errc::protocol_error, what + ": the body must be an object");
  if (const auto* error = find_member(*body, "error"))
    return failed_from(*body, *error);
  auto status = text_member(*body, "status");
  if (text_member(*body, "type") == "try_again" || status == "pending")
    return pending_from(*body, response);
  if (status == "complete_metadata") {
    const auto* size = find_member(*body, "response_payload_size");
    auto told = size != nullptr && size->IsInt64() && size->GetInt64() > 0;
    return FutureTooLarge{told ? size->GetInt64() : 0};
  }
  if (status == "failed")
    return FutureFailed{.error = "the service gave no reason",
                        .category = parse_error_category(text_member(*body, "category"))};
  const rapidjson::Value* value = &*body;
  if (status == "completed")
    if (const auto* inner = find_member(*body, "result"))
      value = inner;
  return read_future_value(type, *value).map([](FutureValue&& x) {
    return FuturePoll{std::move(x)};
  });
}

std::string write_pending(const FuturePending& x, std::string_view request_id) {
  std::map<std::string, std::string> body{{"type", "try_again"},
                                          {"request_id", std::string{request_id}},
                                          {"queue_state", to_string(x.queue_state)}};
  if (!x.queue_state_reason.empty())
    body["queue_state_reason"] = x.queue_state_reason;
  return write_json(body);
}

std::string write_failed(const FutureFailed& x) {
  return write_json(
      std::map<std::string, std::string>{{"error", x.error}, {"category", to_string(x.category)}});
}

Result<EncodedBody> write_value(const FutureValue& x, std::string_view accept) {
  if (accept.find(protobuf_type) != std::string_view::npos) {
    auto as_protobuf = [](std::string&& body) {
      return EncodedBody{std::string{protobuf_type}, std::move(body)};
    };
    if (const auto* output = std::get_if<ForwardBackwardOutput>(&x))
      return to_protobuf(*output).map(as_protobuf);
    if (const auto* samples = std::get_if<SampleResponse>(&x))
      return to_protobuf(*samples).map(as_protobuf);
  }
  return to_json(x).map([](std::string&& body) {
    return EncodedBody{std::string{json_type}, std::move(body)};
  });
}

} // namespace

Result<FuturePoll> read_future(RequestType type, const HttpResponse& response) {
  auto poll = names_protobuf(response.header("content-type")) ? read_protobuf(type, response.body)
                                                              : read_json_poll(type, response);
  if (!poll)
    poll.error().http_status = response.status;
  return poll;
}

FuturePending read_pending(const HttpResponse& response) {
  auto body = parse_json(response.body, "answer to a poll", Errc::protocol_error);
  if (body && body->IsObject())
    return pending_from(*body, response);
  return {.retry_after = read_retry_after(response, std::chrono::system_clock::now())};
}

Result<EncodedBody> write_future(const FuturePoll& poll, std::string_view request_id,
                                 std::string_view accept) {
  auto json = [](std::string body) -> Result<EncodedBody> {
    return EncodedBody{std::string{json_type}, std::move(body)};
  };
  return std::visit(Overloaded{
                        [&](const FuturePending& x) { return json(write_pending(x, request_id)); },
                        [&](const FutureTooLarge& x) {
                          return json(fmt::format(
                              R"({{"status":"complete_metadata","response_payload_size":{}}})",
                              x.response_payload_size));
                        },
                        [&](const FutureFailed& x) { return json(write_failed(x)); },
                        [&](const FutureValue& x) { return write_value(x, accept); },
                    },
                    poll);
}

const char* to_string(QueueState state) noexcept {
  switch (state) {
  case QueueState::active:
    return "active";
  case QueueState::paused_capacity:
    return "paused_capacity";
  case QueueState::paused_rate_limit:
    return "paused_rate_limit";
  case QueueState::unknown:
    break;
  }
  return "unknown";
}

QueueState parse_queue_state(std::string_view text) noexcept {
  for (auto state :
       {QueueState::active, QueueState::paused_capacity, QueueState::paused_rate_limit})
    if (text == to_string(state))
      return state;
  return QueueState::unknown;
}

} // namespace tinkaf::wire

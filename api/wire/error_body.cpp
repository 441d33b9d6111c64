// SPDX-License-Identifier: Apache-2.0
#include "api/wire/error_body.hpp"

#include "api/wire/http_date.hpp"
#include "api/wire/json_reader.hpp"
#include "api/wire/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

namespace tinkaf::wire {

namespace {

constexpr std::size_t max_text_bytes = 2'000;

std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

bool equals_ignoring_case(std::string_view text, std::string_view lower) noexcept {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

/// One finding of a validator, `{"loc": ["body", "field"], "msg": "…"}`, as "body.field: …".
std::string finding(const rapidjson::Value& value) {
  if (!value.IsObject())
    return value.IsString() ? std::string{text_of(value)} : dump(value);
  std::string place;
  const auto* loc = find_member(value, "loc");
  if (loc != nullptr && loc->IsArray())
    for (const auto& step : loc->GetArray()) {
      place += place.empty() ? "" : ".";
      place += step.IsString() ? std::string{text_of(step)} : dump(step);
    }
  const auto* msg = find_member(value, "msg");
  auto text = msg != nullptr && msg->IsString() ? std::string{text_of(*msg)} : dump(value);
  return place.empty() ? text : place + ": " + text;
}

std::string detail_text(const rapidjson::Value& value) {
  if (!value.IsArray())
    return finding(value);
  std::string out;
  for (const auto& entry : value.GetArray()) {
    out += out.empty() ? "" : "; ";
    out += finding(entry);
  }
  return out;
}

/// The service's own words in a JSON object; empty if there are none that we know.
std::string own_words(const rapidjson::Value& body) {
  for (auto name : {"detail", "message", "error"}) {
    const auto* found = find_member(body, name);
    if (found == nullptr)
      continue;
    if (found->IsObject()) {
      auto inner = own_words(*found);
      return inner.empty() ? finding(*found) : inner;
    }
    return detail_text(*found);
  }
  return {};
}

std::optional<std::string> text_member(const rapidjson::Value& body, std::string_view name) {
  const auto* found = find_member(body, name);
  if (found == nullptr || !found->IsString())
    return std::nullopt;
  return std::string{text_of(*found)};
}

/// A whole number of milliseconds, rounded up; nothing if it is negative or no number.
std::optional<std::chrono::milliseconds> to_wait(std::string_view text, double milliseconds_each) {
  constexpr double max_wait_ms = 1e12;
  std::string number{trim(text)};
  if (number.empty() || number.find_first_not_of("0123456789.") != std::string::npos)
    return std::nullopt;
  char* end = nullptr;
  auto value = std::strtod(number.c_str(), &end);
  if (end != number.c_str() + number.size() || !std::isfinite(value))
    return std::nullopt;
  auto wait = std::min(std::ceil(value * milliseconds_each), max_wait_ms);
  return std::chrono::milliseconds{static_cast<std::int64_t>(wait)};
}

std::string proxy_name(const HttpResponse& response) {
  const auto* server = response.header("server");
  return server != nullptr ? fmt::format(" (`{}`)", excerpt(replace_invalid_utf8(*server), 40))
                           : "";
}

} // namespace

std::optional<std::chrono::milliseconds>
read_retry_after(const HttpResponse& response, std::chrono::system_clock::time_point now) {
  if (const auto* exact = response.header("retry-after-ms"))
    if (auto wait = to_wait(*exact, 1.0))
      return wait;
  const auto* header = response.header("retry-after");
  if (header == nullptr)
    return std::nullopt;
  if (auto wait = to_wait(*header, 1'000.0))
    return wait;
  auto date = parse_http_date(trim(*header));
  if (!date)
    return std::nullopt;
  return std::max(std::chrono::ceil<std::chrono::milliseconds>(*date - now),
                  std::chrono::milliseconds{0});
}

Error read_error(std::string_view what, const HttpResponse& response,
                 std::chrono::system_clock::time_point now) {
  Error error{.code = errc_from_http_status(response.status), .http_status = response.status};
  error.category = default_category(error.code);
  error.retry_after = read_retry_after(response, now);
  if (const auto* id = response.header("x-request-id"))
    error.request_id = "x-request-id " + excerpt(replace_invalid_utf8(trim(*id)), 80);
  if (const auto* verdict = response.header("x-should-retry")) {
    if (equals_ignoring_case(trim(*verdict), "true"))
      error.should_retry = true;
    else if (equals_ignoring_case(trim(*verdict), "false"))
      error.should_retry = false;
  }

  auto body = trim(response.body);
  if (response.status == 400 && body.empty()) {
    error.code = Errc::connection;
    error.category = default_category(error.code);
    error.message = fmt::format("{}: a proxy at the edge{} refused the request with an empty 400",
                                what, proxy_name(response));
    return error;
  }

  std::string words;
  if (auto json = parse_json(body, what, Errc::protocol_error)) {
    if (json->IsObject()) {
      words = own_words(*json);
      if (auto category = text_member(*json, "category"))
        if (auto known = parse_error_category(*category); known != ErrorCategory::unknown)
          error.category = known;
      if (auto id = text_member(*json, "request_id"))
        error.request_id = *id;
    } else if (json->IsString()) {
      words = text_of(*json);
    }
  }
  if (words.empty())
    words = replace_invalid_utf8(body);
  if (words.empty())
    words = "no reason given";
  error.message = fmt::format("{}: the service answered {}: {}", what, response.status,
                              excerpt(words, max_text_bytes));
  return error;
}

} // namespace tinkaf::wire

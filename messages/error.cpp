// SPDX-License-Identifier: Apache-2.0
#include "messages/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace tinkaf {

namespace {

struct Row {
  Errc code;
  const char* name;
  ErrorCategory category;
  bool retryable;
};

// The one table of kinds; its order is that of the enumeration.
constexpr auto rows = std::array{
    Row{Errc::none, "none", ErrorCategory::unknown, false},
    Row{Errc::invalid_argument, "invalid_argument", ErrorCategory::user, false},
    Row{Errc::unauthenticated, "unauthenticated", ErrorCategory::user, false},
    Row{Errc::permission_denied, "permission_denied", ErrorCategory::user, false},
    Row{Errc::not_found, "not_found", ErrorCategory::user, false},
    Row{Errc::conflict, "conflict", ErrorCategory::user, false},
    Row{Errc::rate_limited, "rate_limited", ErrorCategory::server, true},
    Row{Errc::payment_required, "payment_required", ErrorCategory::user, false},
    Row{Errc::connection, "connection", ErrorCategory::server, true},
    Row{Errc::timeout, "timeout", ErrorCategory::unknown, true},
    Row{Errc::server_error, "server_error", ErrorCategory::server, true},
    Row{Errc::future_expired, "future_expired", ErrorCategory::server, false},
    Row{Errc::request_failed, "request_failed", ErrorCategory::unknown, false},
    Row{Errc::protocol_error, "protocol_error", ErrorCategory::server, false},
    Row{Errc::cancelled, "cancelled", ErrorCategory::unknown, false},
    Row{Errc::gave_up, "gave_up", ErrorCategory::unknown, false},
    Row{Errc::io_error, "io_error", ErrorCategory::user, false},
    Row{Errc::internal, "internal", ErrorCategory::unknown, false},
};

const Row& row_of(Errc code) noexcept {
  auto index = static_cast<std::size_t>(code);
  return index < rows.size() ? rows[index] : rows.back();
}

} // namespace

tl::unexpected<Error> fail(Errc code, std::string message) {
  return tl::unexpected(
      Error{.code = code, .message = std::move(message), .category = default_category(code)});
}

tl::unexpected<Error> fail(Error error) {
  return tl::unexpected(std::move(error));
}

const char* to_string(Errc code) noexcept {
  return row_of(code).name;
}

const char* to_string(ErrorCategory category) noexcept {
  switch (category) {
  case ErrorCategory::user:
    return "user";
  case ErrorCategory::server:
    return "server";
  default:
    return "unknown";
  }
}

ErrorCategory parse_error_category(std::string_view text) noexcept {
  auto same = [text](std::string_view word) {
    return std::equal(text.begin(), text.end(), word.begin(), word.end(), [](char a, char b) {
      return std::tolower(static_cast<unsigned char>(a)) == b;
    });
  };
  if (same("user"))
    return ErrorCategory::user;
  if (same("server"))
    return ErrorCategory::server;
  return ErrorCategory::unknown;
}

ErrorCategory default_category(Errc code) noexcept {
  return row_of(code).category;
}

bool is_retryable(Errc code) noexcept {
  return row_of(code).retryable;
}

Errc errc_from_http_status(int status) noexcept {
  switch (status) {
  case 400:
  case 413:
  case 415:
  case 422:
    return Errc::invalid_argument;
  case 401:
    return Errc::unauthenticated;
  case 402:
    return Errc::payment_required;
  case 403:
    return Errc::permission_denied;
  case 404:
    return Errc::not_found;
  case 408:
    return Errc::timeout;
  case 409:
    return Errc::conflict;
  case 410:
    return Errc::future_expired;
  case 429:
    return Errc::rate_limited;
  default:
    return status >= 500 ? Errc::server_error : Errc::protocol_error;
  }
}

std::string to_string(const Error& error) {
  auto text = fmt::format("{}: {}", to_string(error.code), error.message);
  if (!error.request_id.empty())
    text += fmt::format(" [request {}]", error.request_id);
  if (error.http_status != 0)
    text += fmt::format(" [HTTP {}]", error.http_status);
  if (error.attempts > 1)
    text += fmt::format(" [{} tries]", error.attempts);
  return text;
}

} // namespace tinkaf

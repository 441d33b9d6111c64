// SPDX-License-Identifier: Apache-2.0
#include "messages/error.hpp"

#include "messages/visible_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace tinkaf {

namespace {

// The one table of kinds; its order is that of the enumeration.
constexpr auto rows = std::array{
    ErrorKind{Errc::none, "none", ErrorCategory::unknown, false},
    ErrorKind{Errc::invalid_argument, "invalid_argument", ErrorCategory::user, false},
    ErrorKind{Errc::unauthenticated, "unauthenticated", ErrorCategory::user, false},
    ErrorKind{Errc::permission_denied, "permission_denied", ErrorCategory::user, false},
    ErrorKind{Errc::not_found, "not_found", ErrorCategory::user, false},
    ErrorKind{Errc::conflict, "conflict", ErrorCategory::user, false},
    ErrorKind{Errc::rate_limited, "rate_limited", ErrorCategory::server, true},
    ErrorKind{Errc::payment_required, "payment_required", ErrorCategory::user, false},
    ErrorKind{Errc::connection, "connection", ErrorCategory::server, true},
    ErrorKind{Errc::timeout, "timeout", ErrorCategory::unknown, true},
    ErrorKind{Errc::server_error, "server_error", ErrorCategory::server, true},
    ErrorKind{Errc::future_expired, "future_expired", ErrorCategory::server, false},
    ErrorKind{Errc::request_failed, "request_failed", ErrorCategory::unknown, false},
    ErrorKind{Errc::protocol_error, "protocol_error", ErrorCategory::server, false},
    ErrorKind{Errc::cancelled, "cancelled", ErrorCategory::unknown, false},
    ErrorKind{Errc::gave_up, "gave_up", ErrorCategory::unknown, false},
    ErrorKind{Errc::io_error, "io_error", ErrorCategory::user, false},
    ErrorKind{Errc::internal, "internal", ErrorCategory::unknown, false},
};

const ErrorKind& row_of(Errc code) noexcept {
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

std::span<const ErrorKind> error_kinds() noexcept {
  return rows;
}

bool is_retryable(Errc code) noexcept {
  return row_of(code).retryable;
}

bool is_retryable(const Error& error) noexcept {
  return error.should_retry.value_or(is_retryable(error.code) && !is_user_error(error));
}

bool is_user_error(const Error& error) noexcept {
  return error.category == ErrorCategory::user;
}

Errc errc_from_http_status(int status) noexcept {
  switch (status) {
  case 400:
  case 405:
  case 411:
  case 413:
  case 414:
  case 415:
  case 422:
  case 431:
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
  auto text = fmt::format("{}: {}", to_string(error.code), visible(error.message));
  if (!error.request_id.empty())
    text += fmt::format(" [request {}]", visible(error.request_id));
  if (error.http_status != 0)
    text += fmt::format(" [HTTP {}]", error.http_status);
  if (error.attempts > 1)
    text += fmt::format(" [{} tries]", error.attempts);
  return text;
}

} // namespace tinkaf

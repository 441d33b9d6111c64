// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tl/expected.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace tinkaf {

/// Why a call failed, sorted by what the caller can do next.
enum class Errc : std::uint8_t {
  /// Not an error; CAF reserves 0.
  none = 0,
  /// The call itself is wrong: fix the argument that the message names.
  invalid_argument,
  /// The API key is missing, malformed or refused.
  unauthenticated,
  /// The key is good but may not do this.
  permission_denied,
  /// The service does not know the named thing.
  not_found,
  /// The name or number is taken.
  conflict,
  /// The service asks to slow down.
  rate_limited,
  /// The account has run out of credit.
  payment_required,
  /// No answer came: refused, unresolved, reset, TLS failure.
  connection,
  /// Time ran out; the work may still go on at the service.
  timeout,
  /// The service answered with 5xx.
  server_error,
  /// The service no longer holds the result: submit the request again.
  future_expired,
  /// The service accepted the operation and it failed there.
  request_failed,
  /// The reply was not one that we understand.
  protocol_error,
  /// The call was given up by its owner, or we shut down before an answer came.
  cancelled,
  /// A supervised part failed more often than its restart policy allows.
  gave_up,
  /// A local file or folder could not be read or written.
  io_error,
  /// A fault of ours; please report it.
  internal,
};

/// Whose fault a failure is, in the service's own words.
enum class ErrorCategory : std::uint8_t { unknown, user, server };

/// A failure as a value: what happened, as text for people and as data for programs.
///
/// Never holds a credential.
struct Error {
  Errc code = Errc::internal;

  /// One sentence: what went wrong, naming the field and its value, and what to change.
  std::string message;

  ErrorCategory category = ErrorCategory::unknown;

  /// By what the service finds the request: the id of its future; before it has one,
  /// `x-request-id …` from the header of the reply or `idempotency key …` of the call. Empty if
  /// nothing was sent.
  std::string request_id;

  /// HTTP status of the last reply; 0 if there was none.
  int http_status = 0;

  /// Tries made, the first one included; 0 if nothing was sent.
  std::uint32_t attempts = 0;

  /// How long the service asked us to wait before the next try.
  std::optional<std::chrono::milliseconds> retry_after;

  /// True if the service may have accepted the request although no answer arrived.
  bool ambiguous = false;

  /// The service's own word on whether to repeat the call; overrides what `code` suggests.
  std::optional<bool> should_retry;

  /// Requests that a batch was cut into; 0 if the call was never cut.
  std::uint32_t parts = 0;

  /// How many of them the service accepted: these take effect, unless they fail themselves,
  /// although the call has failed.
  std::uint32_t accepted_parts = 0;

  friend bool operator==(const Error&, const Error&) = default;
};

/// A value, or the reason why there is none.
template <class T>
using Result = tl::expected<T, Error>;

/// Builds the failing side of a `Result`; the category follows from `code`.
[[nodiscard]] tl::unexpected<Error> fail(Errc code, std::string message);

/// Wraps an existing error as the failing side of a `Result`.
[[nodiscard]] tl::unexpected<Error> fail(Error error);

/// Returns the name of `code`, for example "future_expired".
[[nodiscard]] const char* to_string(Errc code) noexcept;

/// Returns "unknown", "user" or "server".
[[nodiscard]] const char* to_string(ErrorCategory category) noexcept;

/// Reads "user" or "server" in any case; all else is `unknown`.
[[nodiscard]] ErrorCategory parse_error_category(std::string_view text) noexcept;

/// What there is to know of one kind of error; docs/errors.md is this table for people.
struct ErrorKind {
  Errc code = Errc::none;
  const char* name = "";

  /// Whose fault it is where the service has not said so.
  ErrorCategory category = ErrorCategory::unknown;

  /// The same call may succeed later without being changed.
  bool retryable = false;
};

/// All kinds, in the order of `Errc`.
[[nodiscard]] std::span<const ErrorKind> error_kinds() noexcept;

/// Whose fault `code` is where the service has not said so.
[[nodiscard]] ErrorCategory default_category(Errc code) noexcept;

/// True if the same call may succeed later without being changed.
[[nodiscard]] bool is_retryable(Errc code) noexcept;

/// The same of one error: the service's own word counts more than its kind, and what is the
/// caller's fault never passes by itself.
[[nodiscard]] bool is_retryable(const Error& error) noexcept;

/// True if the caller has to change something: the call, the key, the account, a file.
[[nodiscard]] bool is_user_error(const Error& error) noexcept;

/// Maps a non-2xx HTTP status to a code.
[[nodiscard]] Errc errc_from_http_status(int status) noexcept;

/// One line for logs and terminals: code, message, request id, status, tries.
[[nodiscard]] std::string to_string(const Error& error);

} // namespace tinkaf

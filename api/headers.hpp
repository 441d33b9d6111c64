// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_message.hpp"
#include "messages/future.hpp"
#include "messages/secret.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tinkaf {

inline constexpr std::string_view json_media_type = "application/json";
inline constexpr std::string_view protobuf_media_type = "application/x-protobuf";

/// Which results a poll may be answered with.
enum class ResultFormat : std::uint8_t {
  json,
  protobuf,
  /// Protobuf preferred, JSON understood: for services whose release is not known.
  either,
};

/// Makes an idempotency key: a random UUID of version 4. Keep it over all tries of one call.
[[nodiscard]] std::string make_idempotency_key();

/// Headers of a call without a body.
[[nodiscard]] HttpHeaders get_headers();

/// Headers of a call with a JSON body.
/// @param idempotency_key `make_idempotency_key()`, the same for all tries of one call
[[nodiscard]] HttpHeaders json_headers(std::string_view idempotency_key);

/// Headers of a training call with a protobuf body.
/// @param content_encoding "zstd" or "gzip" if the body is compressed, else empty
[[nodiscard]] HttpHeaders protobuf_headers(std::string_view idempotency_key,
                                           std::string_view content_encoding = {});

/// Headers of `asample`: JSON, and "may answer 429 to slow us down".
[[nodiscard]] HttpHeaders sample_headers(std::string_view idempotency_key);

/// Headers of one poll of a future.
/// @param iteration counts the polls of this future, from 0
/// @param roundtrip how long the submission took; sent with the first poll only
[[nodiscard]] HttpHeaders poll_headers(RequestType type, std::uint32_t iteration,
                                       std::optional<std::chrono::microseconds> roundtrip,
                                       ResultFormat format);

/// `X-API-Key`, for `HttpRequest::secret_headers`; empty for an empty secret.
[[nodiscard]] HttpHeaders credential_headers(const Secret& credential);

/// True if there is a header of that name, in any case.
[[nodiscard]] bool has_header(const HttpHeaders& headers, std::string_view name) noexcept;

/// Lays `more` over `headers`: a name that both have (in any case) gets the value of `more`.
void merge_headers(HttpHeaders& headers, const HttpHeaders& more);

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "api/headers.hpp"

#include "api/random.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace tinkaf {

namespace {

bool same_name(std::string_view a, std::string_view b) noexcept {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x))
           == std::tolower(static_cast<unsigned char>(y));
  });
}

bool comes_as_protobuf(RequestType type) noexcept {
  return type == RequestType::forward || type == RequestType::forward_backward
         || type == RequestType::sample;
}

std::string accepted(RequestType type, ResultFormat format) {
  if (format == ResultFormat::json || !comes_as_protobuf(type))
    return std::string{json_media_type};
  if (format == ResultFormat::protobuf)
    return std::string{protobuf_media_type};
  return fmt::format("{}, {}", protobuf_media_type, json_media_type);
}

HttpHeaders body_headers(std::string_view media_type, std::string_view idempotency_key) {
  return {{"Accept", std::string{json_media_type}},
          {"Content-Type", std::string{media_type}},
          {"X-Idempotency-Key", std::string{idempotency_key}}};
}

} // namespace

std::string make_idempotency_key() {
  auto x = random_bits();
  x[1] = (x[1] & 0xFFFF0FFFU) | 0x00004000U; // version 4
  x[2] = (x[2] & 0x3FFFFFFFU) | 0x80000000U; // variant 1
  return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:04x}{:08x}", x[0], x[1] >> 16, x[1] & 0xFFFFU,
                     x[2] >> 16, x[2] & 0xFFFFU, x[3]);
}

HttpHeaders get_headers() {
  return {{"Accept", std::string{json_media_type}}};
}

HttpHeaders json_headers(std::string_view idempotency_key) {
  return body_headers(json_media_type, idempotency_key);
}

HttpHeaders protobuf_headers(std::string_view idempotency_key, std::string_view content_encoding) {
  auto headers = body_headers(protobuf_media_type, idempotency_key);
  if (!content_encoding.empty())
    headers.emplace_back("Content-Encoding", content_encoding);
  return headers;
}

HttpHeaders sample_headers(std::string_view idempotency_key) {
  auto headers = json_headers(idempotency_key);
  headers.emplace_back("X-Tinker-Sampling-Backpressure", "1");
  return headers;
}

HttpHeaders poll_headers(RequestType type, std::uint32_t iteration,
                         std::optional<std::chrono::microseconds> roundtrip, ResultFormat format) {
  HttpHeaders headers{{"Accept", accepted(type, format)},
                      {"Content-Type", std::string{json_media_type}},
                      {"X-Idempotency-Key", make_idempotency_key()},
                      {"X-Tinker-Request-Iteration", std::to_string(iteration)},
                      {"X-Tinker-Request-Type", to_string(type)}};
  if (iteration == 0 && roundtrip)
    headers.emplace_back("X-Tinker-Create-Promise-Roundtrip-Time",
                         fmt::format("{:.6f}", std::chrono::duration<double>(*roundtrip).count()));
  return headers;
}

HttpHeaders credential_headers(const Secret& credential) {
  if (credential.empty())
    return {};
  return {{"X-API-Key", credential.reveal()}};
}

bool has_header(const HttpHeaders& headers, std::string_view name) noexcept {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& header) { return same_name(header.first, name); });
}

void merge_headers(HttpHeaders& headers, const HttpHeaders& more) {
  for (const auto& addition : more) {
    auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& header) {
      return same_name(header.first, addition.first);
    });
    if (found != headers.end())
      found->second = addition.second;
    else
      headers.push_back(addition);
  }
}

} // namespace tinkaf

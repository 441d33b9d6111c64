// SPDX-License-Identifier: Apache-2.0
#include "actors/access_token.hpp"

#include <rapidjson/document.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace tinkaf {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view alphabet
    = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

std::optional<std::string> decode_base64url(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (auto letter : text) {
    auto value = alphabet.find(letter);
    if (value == std::string_view::npos)
      return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(value);
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes.push_back(static_cast<char>((bits >> static_cast<unsigned>(count)) & 0xFFU));
    }
  }
  return bytes;
}

rapidjson::Document parse(std::string_view json) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  return document;
}

} // namespace

Result<Secret> read_access_token(std::string_view json) {
  auto document = parse(json);
  if (document.HasParseError() || !document.IsObject() || !document.HasMember("jwt")
      || !document["jwt"].IsString() || document["jwt"].GetStringLength() == 0)
    return fail(Errc::protocol_error, "auth/token answer: `jwt` must be a text");
  return Secret{std::string{document["jwt"].GetString(), document["jwt"].GetStringLength()}};
}

std::optional<std::chrono::system_clock::time_point> expiry_of(const Secret& access_token) {
  std::string_view token = access_token.reveal();
  auto first = token.find('.');
  if (first == std::string_view::npos)
    return std::nullopt;
  auto payload = token.substr(first + 1);
  payload = payload.substr(0, payload.find_first_of(".="));
  auto json = decode_base64url(payload);
  if (!json)
    return std::nullopt;
  auto document = parse(*json);
  if (document.HasParseError() || !document.IsObject() || !document.HasMember("exp")
      || !document["exp"].IsInt64())
    return std::nullopt;
  // Beyond this a clock of 64 bits in nanoseconds would overflow.
  constexpr std::int64_t last = 9'000'000'000;
  return std::chrono::system_clock::time_point{
      std::chrono::seconds{std::clamp<std::int64_t>(document["exp"].GetInt64(), 0, last)}};
}

std::chrono::seconds renewal_delay(const Secret& access_token,
                                   std::chrono::system_clock::time_point now) {
  auto expiry = expiry_of(access_token);
  if (!expiry)
    return 60s;
  return std::max<std::chrono::seconds>(
      10s, std::chrono::duration_cast<std::chrono::seconds>(*expiry - now) - 5min);
}

} // namespace tinkaf

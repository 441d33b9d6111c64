// SPDX-License-Identifier: Apache-2.0
#include "actors/token_claims.hpp"

#include "api/wire/base64.hpp"

#include <rapidjson/document.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

namespace tinkaf {

namespace {

/// The payload of a JWT, its second part, which is base64url without padding.
std::optional<std::string> payload_of(std::string_view token) {
  auto first = token.find('.');
  if (first == std::string_view::npos)
    return std::nullopt;
  auto rest = token.substr(first + 1);
  std::string text{rest.substr(0, rest.find_first_of(".="))};
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  text.append((4 - text.size() % 4) % 4, '=');
  return wire::from_base64(text);
}

std::string text_claim(const rapidjson::Document& claims, const char* name) {
  auto found = claims.FindMember(name);
  if (found == claims.MemberEnd() || !found->value.IsString())
    return {};
  return {found->value.GetString(), found->value.GetStringLength()};
}

} // namespace

Result<WhoamiResponse> read_claims(const Secret& token, bool exchanged) {
  auto payload = payload_of(token.reveal());
  rapidjson::Document claims;
  if (payload)
    claims.Parse<rapidjson::kParseIterativeFlag>(payload->data(), payload->size());
  if (!payload || claims.HasParseError() || !claims.IsObject())
    return fail(Errc::unauthenticated, "whoami needs a token that says who it is for; this "
                                       "credential does not, and the service gave none for it");
  if (!exchanged && !text_claim(claims, "iss").starts_with("passport-"))
    return fail(Errc::unauthenticated,
                "whoami needs a token of the service; the issuer of this credential is another");
  auto user = text_claim(claims, "sub");
  if (user.empty())
    return fail(Errc::protocol_error, "the token has no claim `sub`");
  auto email = text_claim(claims, "email");
  return WhoamiResponse{std::move(user),
                        email.empty() ? std::nullopt : std::optional{std::move(email)}};
}

} // namespace tinkaf

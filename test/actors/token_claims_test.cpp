// SPDX-License-Identifier: Apache-2.0
#include "actors/token_claims.hpp"

#include "api/wire/base64.hpp"
#include "test/catch.hpp"

#include <algorithm>
#include <string>

using namespace tinkaf;

namespace {

Secret token(const std::string& claims) {
  auto text = wire::to_base64(claims);
  std::replace(text.begin(), text.end(), '+', '-');
  std::replace(text.begin(), text.end(), '/', '_');
  return "eyJhbGciOiJub25lIn0." + text.substr(0, text.find('=')) + ".signature";
}

} // namespace

TEST_CASE("A token says who it is for", "[actors][rest]") {
  CHECK(read_claims(token(R"({"sub":"urn:user:42","email":"ana@example.org"})"), true)
        == WhoamiResponse{"urn:user:42", "ana@example.org"});
  CHECK(read_claims(token(R"({"sub":"urn:user:\u00e4?>","email":""})"), true)
        == WhoamiResponse{"urn:user:\xC3\xA4?>", {}});
  CHECK(read_claims(token(R"({"sub":"u","iss":"passport-prod"})"), false)
        == WhoamiResponse{"u", {}});
}

TEST_CASE("A credential that is no token of the service says nothing", "[actors][rest]") {
  CHECK(read_claims(token(R"({"sub":"u","iss":"other"})"), false).error().code
        == Errc::unauthenticated);
  for (const auto* bad : {"", "tml-key", "eyJ.%%%.x", "eyJ.W10.x", "eyJ..x"}) {
    auto claims = read_claims(bad, true);
    REQUIRE_FALSE(claims.has_value());
    CHECK(claims.error().code == Errc::unauthenticated);
  }
  CHECK(read_claims(token("{}"), true).error().message == "the token has no claim `sub`");
}

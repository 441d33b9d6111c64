// SPDX-License-Identifier: Apache-2.0
#include "actors/access_token.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

using Clock = std::chrono::system_clock;

// Payload {"exp":1800000000}, encoded by Python's base64.urlsafe_b64encode.
const Secret token{"eyJhbGciOiJub25lIn0.eyJleHAiOjE4MDAwMDAwMDB9.signature"};

} // namespace

TEST_CASE("A token is read from its answer", "[actors][access_token]") {
  CHECK(read_access_token(R"({"jwt":"eyJ.x.y"})")->reveal() == "eyJ.x.y");
  for (const auto* bad : {"", "[]", "{}", R"({"jwt":7})", R"({"jwt":""})"})
    CHECK(read_access_token(bad).error().code == Errc::protocol_error);
}

TEST_CASE("A token is renewed five minutes before its end", "[actors][access_token]") {
  auto end = Clock::time_point{1'800'000'000s};
  CHECK(expiry_of(token) == end);
  CHECK(renewal_delay(token, end - 1h) == 55min);
  CHECK(renewal_delay(token, end - 1min) == 10s);
}

TEST_CASE("A token that does not say its end is renewed each minute", "[actors][access_token]") {
  for (const auto* text : {"", "eyJ", "a.b", "a.!!!.c", "a.e30.c"}) {
    CHECK_FALSE(expiry_of(Secret{text}).has_value());
    CHECK(renewal_delay(Secret{text}, Clock::now()) == 60s);
  }
}

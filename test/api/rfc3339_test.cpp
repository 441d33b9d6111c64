// SPDX-License-Identifier: Apache-2.0
#include "api/wire/rfc3339.hpp"

#include "test/catch.hpp"

#include <cmath>
#include <limits>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

constexpr auto march = Timestamp{std::chrono::sys_days{std::chrono::year{2026} / 3 / 4}};

} // namespace

TEST_CASE("Times are read in every form that RFC 3339 has", "[api][time]") {
  auto expected = march + 5h + 6min + 7s;
  CHECK(wire::parse_rfc3339("2026-03-04T05:06:07Z") == expected);
  CHECK(wire::parse_rfc3339("2026-03-04t05:06:07z") == expected);
  CHECK(wire::parse_rfc3339("2026-03-04 05:06:07") == expected);
  CHECK(wire::parse_rfc3339("2026-03-04T06:36:07+01:30") == expected);
  CHECK(wire::parse_rfc3339("2026-03-03T21:06:07-08:00") == expected);
  CHECK(wire::parse_rfc3339("2026-03-04T05:06:07.25Z") == expected + 250ms);
  CHECK(wire::parse_rfc3339("2026-03-04T05:06:07.1234567Z") == expected + 123456us);
  CHECK(wire::parse_rfc3339("2026-03-04T05:06:60Z") == march + 5h + 7min);
  CHECK(wire::parse_rfc3339("2024-02-29T00:00:00Z").has_value());
}

TEST_CASE("What is no time of RFC 3339 is refused", "[api][time]") {
  for (const auto* bad :
       {"", "2026", "2026-03-04", "2026-03-04T05:06Z", "2026-03-04T05:06:07.Z",
        "2026-03-04T05:06:07+0100", "2026-03-04T24:00:00Z", "2026-02-29T00:00:00Z",
        "2026-13-01T00:00:00Z", "2026-03-04T05:06:07Zx", "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00+01:00", " 2026-03-04T05:06:07Z", "+026-03-04T05:06:07Z"}) {
    INFO(bad);
    CHECK_FALSE(wire::parse_rfc3339(bad).has_value());
  }
}

TEST_CASE("Times are written in UTC and come back the same", "[api][time]") {
  CHECK(wire::to_rfc3339(march + 5h) == "2026-03-04T05:00:00Z");
  CHECK(wire::to_rfc3339(march + 1500us) == "2026-03-04T00:00:00.001500Z");
  for (const auto* text : {"0001-01-01T00:00:00Z", "1969-12-31T23:59:59.999999Z",
                           "9999-12-31T23:59:59.999999Z", "2024-02-29T12:00:00Z"}) {
    auto time = wire::parse_rfc3339(text);
    REQUIRE(time.has_value());
    CHECK(wire::to_rfc3339(*time) == text);
  }
}

TEST_CASE("Unix numbers are seconds, large ones milliseconds", "[api][time]") {
  CHECK(wire::from_unix_number(0) == Timestamp{});
  CHECK(wire::from_unix_number(1772600767.5) == Timestamp{1772600767500ms});
  CHECK(wire::from_unix_number(1772600767500.0) == Timestamp{1772600767500ms});
  CHECK(wire::from_unix_number(-1) == Timestamp{-1s});
  for (auto bad : {std::numeric_limits<double>::quiet_NaN(),
                   std::numeric_limits<double>::infinity(), 1e300, 9e14, -9e14})
    CHECK_FALSE(wire::from_unix_number(bad).has_value());
}

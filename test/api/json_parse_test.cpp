// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_parse.hpp"

#include "test/catch.hpp"

#include <rapidjson/error/error.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

using namespace tinkaf;

namespace {

rapidjson::Document parsed(const std::string& json) {
  auto document = wire::parse_document(json);
  INFO(json);
  REQUIRE(document.has_value());
  return std::move(*document);
}

} // namespace

TEST_CASE("A zero is a zero, whatever its exponent", "[api][json]") {
  for (const auto* zero : {"0e212", "0.0e212", "0e-90", "0.000e50", "0E+7"})
    CHECK(parsed(zero).GetDouble() == 0);
  CHECK(std::signbit(parsed("-0e-90").GetDouble()));
  CHECK(std::signbit(parsed("-0.0").GetDouble()));
}

TEST_CASE("A number is an integer where it can be", "[api][json]") {
  CHECK(parsed("9223372036854775807").GetInt64() == std::numeric_limits<std::int64_t>::max());
  CHECK(parsed("-9223372036854775808").GetInt64() == std::numeric_limits<std::int64_t>::min());
  CHECK(parsed("18446744073709551615").GetUint64() == std::numeric_limits<std::uint64_t>::max());
  CHECK_FALSE(parsed("18446744073709551616").IsUint64());
  CHECK(parsed("18446744073709551616").GetDouble() == 18446744073709551616.0);
  CHECK_FALSE(parsed("1.0").IsInt64());
  CHECK(parsed("-0").GetInt64() == 0);
  CHECK(parsed("7").IsInt());
}

TEST_CASE("A number that no double can hold is refused, a tiny one is nothing", "[api][json]") {
  for (const auto* large : {"1e309", "-1e309", "63478716452400262510.125e289", "1e99999"}) {
    INFO(large);
    const auto document = wire::parse_document("[" + std::string{large} + "]");
    REQUIRE_FALSE(document.has_value());
    CHECK(document.error().Code() == rapidjson::kParseErrorNumberTooBig);
    CHECK(document.error().Offset() == 1);
  }
  CHECK_FALSE(wire::parse_document(std::string(400, '9')).has_value());
  CHECK(parsed("1e-400").GetDouble() == 0);
  CHECK(parsed("0." + std::string(400, '0') + "1").GetDouble() == 0);
  CHECK(parsed("5e-324").GetDouble() == std::numeric_limits<double>::denorm_min());
  CHECK(parsed("1.7976931348623157e308").GetDouble() == std::numeric_limits<double>::max());
}

TEST_CASE("A number is the nearest double", "[api][json]") {
  CHECK(parsed("3577984763181729643.302e-170").GetDouble() == 3577984763181729643.302e-170);
  std::mt19937_64 random{1};
  const auto digits = [&](std::string& text, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      text += static_cast<char>('0' + random() % 10);
  };
  bool all = true;
  for (int i = 0; i < 100'000; ++i) {
    std::string text = std::to_string(1 + random() % 9);
    digits(text, random() % 20);
    text += '.';
    digits(text, 1 + random() % 20);
    text += 'e' + std::to_string(static_cast<int>(random() % 560) - 290);
    all = all && parsed(text).GetDouble() == std::strtod(text.c_str(), nullptr);
  }
  CHECK(all);
}

TEST_CASE("What is not one JSON text is refused where it goes wrong", "[api][json]") {
  for (const auto* bad : {"", "01", "1.", "1e", "+1", ".5", "0x10", "NaN", "Infinity", "[1,]",
                          "1 2", "{\"a\":}", "\"\xff\"", "-"}) {
    INFO(bad);
    CHECK_FALSE(wire::parse_document(bad).has_value());
  }
  CHECK(wire::parse_document("[1, 2").error().Offset() == 5);
}

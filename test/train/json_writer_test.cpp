// SPDX-License-Identifier: Apache-2.0
#include "train/json_writer.hpp"

#include "test/catch.hpp"

#include <limits>
#include <vector>

using tinkaf::train::JsonWriter;

TEST_CASE("Fields are written in their order", "[train][json_writer]") {
  auto json = JsonWriter{};
  json.add("b", std::int64_t{-1});
  json.add("a", "x\n\"y\"");
  json.add("c", true);
  json.add("d", std::vector<std::int32_t>{1, 2});
  json.add("e", std::vector<float>{0.5F});
  CHECK(json.take() == R"({"b":-1,"a":"x\n\"y\"","c":true,"d":[1,2],"e":[0.5]})");
}

TEST_CASE("Numbers come back exactly, and those that JSON lacks are null", "[train][json_writer]") {
  auto json = JsonWriter{};
  json.add("a", 0.1 + 0.2);
  json.add("b", std::numeric_limits<double>::quiet_NaN());
  json.add("c", -std::numeric_limits<double>::infinity());
  CHECK(json.take() == R"({"a":0.30000000000000004,"b":null,"c":null})");
}

TEST_CASE("Bytes that are not UTF-8 are replaced one by one", "[train][json_writer]") {
  auto json = JsonWriter{};
  json.add("a", "\xC3\xA9|\xC3|\xE2\x82|\xED\xA0\x80|\xF0\x9F\x98\x80");
  CHECK(json.take() == "{\"a\":\"\u00e9|\uFFFD|\uFFFD\uFFFD|\uFFFD\uFFFD\uFFFD|\U0001F600\"}");
}

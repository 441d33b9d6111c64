// SPDX-License-Identifier: Apache-2.0
#include "server/http/uri.hpp"

#include "test/catch.hpp"

using namespace tinkaf::server;

TEST_CASE("Escapes of a path are decoded, malformed ones refused", "[server][http]") {
  CHECK(percent_decode("a%3ab%2Fc+d") == "a:b/c+d");
  CHECK(percent_decode("") == "");
  for (const auto* bad : {"%", "%4", "a%zz", "%-1"})
    CHECK_FALSE(percent_decode(bad).has_value());
}

TEST_CASE("A parameter of a query is found by its whole name", "[server][http]") {
  CHECK(query_value("limit=5&offset=%31", "offset") == "1");
  CHECK(query_value("xlimit=5&limit=7&limit=8", "limit") == "7");
  CHECK(query_value("limit", "limit") == "");
  CHECK(query_value("&&limit=", "limit") == "");
  CHECK_FALSE(query_value("limit=%", "limit").has_value());
  CHECK_FALSE(query_value("", "limit").has_value());
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/report.hpp"

#include "test/catch.hpp"

using namespace tinkaf;
using namespace tinkaf::cli;

TEST_CASE("An error is one line that names the request", "[cli][report]") {
  auto error = Error{.code = Errc::request_failed, .message = "first\nsecond"};
  CHECK(error_line(error) == "first second");
  error.request_id = "r-1";
  CHECK(error_line(error) == "first second (request r-1)");
  CHECK_FALSE(error_line(Error{.code = Errc::timeout}).empty());
}

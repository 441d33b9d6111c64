// SPDX-License-Identifier: Apache-2.0
#include "messages/error.hpp"

#include "test/catch.hpp"

#include <cstddef>
#include <fstream>
#include <string>
#include <vector>

using namespace tinkaf;

TEST_CASE("An HTTP status becomes the code that tells what to do next", "[messages][error]") {
  CHECK(errc_from_http_status(400) == Errc::invalid_argument);
  CHECK(errc_from_http_status(401) == Errc::unauthenticated);
  CHECK(errc_from_http_status(402) == Errc::payment_required);
  CHECK(errc_from_http_status(403) == Errc::permission_denied);
  CHECK(errc_from_http_status(404) == Errc::not_found);
  CHECK(errc_from_http_status(409) == Errc::conflict);
  CHECK(errc_from_http_status(410) == Errc::future_expired);
  CHECK(errc_from_http_status(429) == Errc::rate_limited);
  CHECK(errc_from_http_status(503) == Errc::server_error);
  CHECK(errc_from_http_status(302) == Errc::protocol_error);
}

TEST_CASE("Only failures that may pass by themselves are retryable", "[messages][error]") {
  CHECK(is_retryable(Errc::connection));
  CHECK(is_retryable(Errc::rate_limited));
  CHECK(is_retryable(Errc::server_error));
  CHECK_FALSE(is_retryable(Errc::invalid_argument));
  CHECK_FALSE(is_retryable(Errc::request_failed));
}

TEST_CASE("The table of kinds has each name in its own row", "[messages][error]") {
  CHECK(to_string(Errc::none) == std::string{"none"});
  CHECK(to_string(Errc::future_expired) == std::string{"future_expired"});
  CHECK(to_string(Errc::internal) == std::string{"internal"});
}

TEST_CASE("A category is read in any case", "[messages][error]") {
  CHECK(parse_error_category("USER") == ErrorCategory::user);
  CHECK(parse_error_category("server") == ErrorCategory::server);
  CHECK(parse_error_category("users") == ErrorCategory::unknown);
  CHECK(parse_error_category("") == ErrorCategory::unknown);
}

TEST_CASE("An error prints on one line with what is known", "[messages][error]") {
  auto error = Error{.code = Errc::server_error,
                     .message = "restarting",
                     .request_id = "req-1",
                     .http_status = 503,
                     .attempts = 3};
  CHECK(to_string(error) == "server_error: restarting [request req-1] [HTTP 503] [3 tries]");
}

TEST_CASE("The table for people is the table of the code", "[messages][error][docs]") {
  std::ifstream file{TINKAF_SOURCE_DIR "/docs/errors.md"};
  REQUIRE(file.good());
  std::vector<std::string> rows;
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("| `"))
      rows.push_back(line);
  auto kinds = error_kinds();
  REQUIRE(rows.size() == kinds.size());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    CHECK(static_cast<std::size_t>(kinds[i].code) == i);
    auto expected = "| `" + std::string{kinds[i].name} + "` | " + to_string(kinds[i].category)
                    + " | " + (kinds[i].retryable ? "yes" : "no") + " | ";
    CHECK(rows[i].substr(0, expected.size()) == expected);
  }
}

TEST_CASE("Every status that a server may refuse with has a kind", "[messages][error]") {
  for (auto status : {400, 405, 411, 413, 414, 415, 422, 431})
    CHECK(errc_from_http_status(status) == Errc::invalid_argument);
  CHECK(errc_from_http_status(408) == Errc::timeout);
  for (auto status : {500, 502, 503, 504, 529})
    CHECK(errc_from_http_status(status) == Errc::server_error);
  CHECK(errc_from_http_status(418) == Errc::protocol_error);
}

TEST_CASE("The service's word on an error counts more than its kind", "[messages][error]") {
  auto failed = Error{.code = Errc::server_error, .category = ErrorCategory::server};
  CHECK(is_retryable(failed));
  CHECK_FALSE(is_user_error(failed));
  failed.should_retry = false;
  CHECK_FALSE(is_retryable(failed));
  auto mine = Error{.code = Errc::timeout, .category = ErrorCategory::user};
  CHECK_FALSE(is_retryable(mine));
  CHECK(is_user_error(mine));
  mine.should_retry = true;
  CHECK(is_retryable(mine));
}

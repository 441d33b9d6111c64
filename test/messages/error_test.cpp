// SPDX-License-Identifier: Apache-2.0
#include "messages/error.hpp"

#include "test/catch.hpp"

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

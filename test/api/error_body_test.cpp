// SPDX-License-Identifier: Apache-2.0
#include "api/wire/error_body.hpp"

#include "api/wire/http_date.hpp"
#include "test/api/wire_examples.hpp"
#include "test/catch.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

// 1994-11-06 08:49:37 UTC
const std::chrono::system_clock::time_point then{std::chrono::seconds{784'111'777}};

Error error_of(int status, std::string body, HttpHeaders headers = {}) {
  return wire::read_error("create_model", {status, std::move(headers), std::move(body)}, then);
}

std::optional<std::chrono::milliseconds> retry_after(HttpHeaders headers) {
  return wire::read_retry_after({503, std::move(headers), {}}, then);
}

} // namespace

TEST_CASE("The service's own words make the message", "[api][error]") {
  auto example = test::example_json("error.body.json");
  rapidjson::StringBuffer body;
  rapidjson::Writer<rapidjson::StringBuffer> writer{body};
  example["body"].Accept(writer);
  auto error = error_of(example["status"].GetInt(), body.GetString());
  CHECK(error.code == Errc::invalid_argument);
  CHECK(error.category == ErrorCategory::user);
  CHECK(error.http_status == 422);
  CHECK(error.message == "create_model: the service answered 422: rank must be at most 64");

  CHECK(error_of(404, R"({"message":"no"})").message
        == "create_model: the service answered 404: no");
  CHECK(error_of(500, R"({"error":{"message":"worker lost"}})").message
        == "create_model: the service answered 500: worker lost");
  CHECK(error_of(422, R"({"detail":[{"loc":["body","rank"],"msg":"too large"},{"msg":"bad"}]})")
            .message
        == "create_model: the service answered 422: body.rank: too large; bad");
  CHECK(error_of(502, " <html>bad gateway</html>\n").message
        == "create_model: the service answered 502: <html>bad gateway</html>");
  CHECK(error_of(503, "").message == "create_model: the service answered 503: no reason given");
  CHECK(error_of(500, std::string(5'000, 'x')).message.size() < 2'100);
  CHECK(error_of(500, "\xFF").message == "create_model: the service answered 500: \xEF\xBF\xBD");
}

TEST_CASE("An empty 400 comes from the edge and counts as no connection", "[api][error]") {
  CHECK(error_of(400, "").code == Errc::connection);
  CHECK(error_of(400, R"({"detail":"x"})").code == Errc::invalid_argument);
}

TEST_CASE("Category, request and verdict are read", "[api][error]") {
  auto error = error_of(500, R"({"detail":"x","category":"user","request_id":"req-1"})",
                        {{"x-should-retry", "False"}, {"retry-after", "2"}});
  CHECK(error.category == ErrorCategory::user);
  CHECK(error.request_id == "req-1");
  CHECK(error.should_retry == false);
  CHECK(error.retry_after == 2s);
  CHECK_FALSE(error_of(500, "").should_retry.has_value());
}

TEST_CASE("A wait comes in seconds, milliseconds or as a date", "[api][error]") {
  CHECK(retry_after({{"retry-after", "2"}}) == 2s);
  CHECK(retry_after({{"retry-after", "0.0015"}}) == 2ms);
  CHECK(retry_after({{"retry-after-ms", "150"}, {"retry-after", "2"}}) == 150ms);
  CHECK(retry_after({{"retry-after-ms", "soon"}, {"retry-after", "2"}}) == 2s);
  CHECK(retry_after({{"retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"}}) == 30s);
  CHECK(retry_after({{"retry-after", "Sun, 06 Nov 1994 08:00:00 GMT"}}) == 0s);
  for (const auto* text : {"", "-1", "nan", "soon", "1e9", "Sun, 06 Nov 1994"})
    CHECK_FALSE(retry_after({{"retry-after", text}}).has_value());
  CHECK_FALSE(retry_after({}).has_value());
  CHECK(retry_after({{"retry-after", std::string(400, '9')}}).value_or(0s) >= 0s);
}

TEST_CASE("Dates of headers are read strictly", "[api][error]") {
  CHECK(wire::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT") == then);
  for (const auto* text : {"Sun, 31 Feb 1994 08:49:37 GMT", "Sun, 06 Nov 1994 25:49:37 GMT",
                           "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Foo 1994 08:49:37 GMT",
                           "Sun, -6 Nov 1994 08:49:37 GMT"})
    CHECK_FALSE(wire::parse_http_date(text).has_value());
}

TEST_CASE("A refusal is named by the body's request id, else by the header's", "[api][error]") {
  auto response = HttpResponse{
      .status = 422, .headers = {{"x-request-id", "edge-7"}}, .body = R"({"detail":"no"})"};
  CHECK(wire::read_error("asample", response).request_id == "x-request-id edge-7");
  response.body = R"({"detail":"no","request_id":"req-1"})";
  CHECK(wire::read_error("asample", response).request_id == "req-1");
  response = {.status = 400, .headers = {{"x-request-id", "edge-7"}}, .body = {}};
  CHECK(wire::read_error("asample", response).request_id == "x-request-id edge-7");
}

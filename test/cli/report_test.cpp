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

TEST_CASE("What the service refused is told without the names of calls", "[cli][report]") {
  auto line = [](std::string message) {
    return error_line(Error{.code = Errc::invalid_argument, .message = std::move(message)});
  };
  CHECK(line("asample: the service answered 400: prompt: is empty")
        == "the service refused: prompt is empty");
  CHECK(line("create_model: the service answered 404: base_model: `x` is not served")
        == "the service refused: base_model: `x` is not served");
  CHECK(line("asample: the service answered 500: odd") == "the service refused: odd");
  CHECK(line("--from: weights_info: the service answered 404: path: is gone")
        == "--from: the service refused: path is gone");
  CHECK(line("rows.jsonl:3: field \"prompt\" is missing")
        == "rows.jsonl:3: field \"prompt\" is missing");
}

TEST_CASE("Why there is no connection is told without its address", "[cli][report]") {
  CHECK(connection_reason("GET http://127.0.0.1:9: Failed to connect to 127.0.0.1 port 9 after 0 "
                          "ms: Couldn't connect to server")
        == "Couldn't connect to server");
  CHECK(connection_reason("GET http://no.where: Could not resolve host: no.where")
        == "there is no host of this name");
  CHECK(connection_reason("GET https://h: no answer within 10000 ms")
        == "no answer within 10000 ms");
}

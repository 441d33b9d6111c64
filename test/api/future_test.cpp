// SPDX-License-Identifier: Apache-2.0
#include "api/wire/future.hpp"

#include "api/wire/protobuf.hpp"
#include "test/api/wire_examples.hpp"
#include "test/catch.hpp"

#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

const HttpHeaders json_type{{"content-type", "application/json"}};
const HttpHeaders protobuf_type{{"content-type", "application/x-protobuf; v=1"}};

/// The answer in the n-th state of the examples.
HttpResponse state(rapidjson::SizeType n) {
  auto states = test::example_json("retrieve_future.states.json");
  rapidjson::StringBuffer body;
  rapidjson::Writer<rapidjson::StringBuffer> writer{body};
  states[n]["body"].Accept(writer);
  return {states[n]["status"].GetInt(), json_type, body.GetString()};
}

FuturePoll poll(RequestType type, const HttpResponse& response) {
  auto read = wire::read_future(type, response);
  INFO((read ? "" : to_string(read.error())));
  REQUIRE(read.has_value());
  return *read;
}

FuturePoll poll(RequestType type, std::string body) {
  return poll(type, {200, json_type, std::move(body)});
}

} // namespace

TEST_CASE("Answers to polls are told apart", "[api][future]") {
  auto type = RequestType::optim_step;
  CHECK(poll(type, state(0)) == FuturePoll{FuturePending{QueueState::active, {}, {}}});
  CHECK(poll(type, state(1))
        == FuturePoll{FuturePending{QueueState::paused_capacity, "waiting for two nodes", {}}});
  CHECK(wire::read_pending(state(2)) == FuturePending{QueueState::paused_rate_limit, {}, {}});
  CHECK(poll(type, state(3)) == FuturePoll{FutureTooLarge{73'400'320}});
  CHECK(poll(type, state(4))
        == FuturePoll{FutureFailed{"token id out of range", ErrorCategory::user}});
  CHECK(poll(type, state(5)) == FuturePoll{FutureFailed{"worker lost", ErrorCategory::server}});
}

TEST_CASE("Other services' words are understood", "[api][future]") {
  auto type = RequestType::optim_step;
  CHECK(std::holds_alternative<FuturePending>(poll(type, R"({"status":"pending"})")));
  CHECK(poll(type, R"({"status":"failed","error":{"message":"no"},"category":"User"})")
        == FuturePoll{FutureFailed{"no", ErrorCategory::user}});
  CHECK(std::holds_alternative<FutureFailed>(poll(type, R"({"status":"failed"})")));
  FutureValue step = OptimStepResponse{{{"n", 1.0}}};
  CHECK(poll(type, R"({"status":"completed","result":{"metrics":{"n":1}}})") == FuturePoll{step});
  CHECK(poll(type, R"({"status":"completed","metrics":{"n":1}})") == FuturePoll{step});
  CHECK(poll(type, R"({"metrics":null})") == FuturePoll{FutureValue{OptimStepResponse{}}});
}

TEST_CASE("A large result without a sensible size counts as one of 0 bytes", "[api][future]") {
  for (const auto* size : {"", R"(,"response_payload_size":-1)", R"(,"response_payload_size":"7")",
                           R"(,"response_payload_size":null)"})
    CHECK(poll(RequestType::sample, R"({"status":"complete_metadata")" + std::string{size} + "}")
          == FuturePoll{FutureTooLarge{0}});
}

TEST_CASE("A failure is a failure whatever else is there", "[api][future]") {
  CHECK(std::holds_alternative<FutureFailed>(
      poll(RequestType::optim_step, R"({"metrics":{},"type":"try_again","error":"x"})")));
}

TEST_CASE("A wait in body or header is kept", "[api][future]") {
  HttpResponse response{200, json_type, R"({"type":"try_again","retry_after_ms":250})"};
  CHECK(std::get<FuturePending>(poll(RequestType::sample, response)).retry_after == 250ms);
  response.headers.emplace_back("retry-after", "3");
  CHECK(std::get<FuturePending>(poll(RequestType::sample, response)).retry_after == 3s);
}

TEST_CASE("Answers that cannot be are protocol errors with their status", "[api][future]") {
  for (const auto* body : {"", "[]", "no json", R"({"metrics":{"n":"x"}})"}) {
    auto read = wire::read_future(RequestType::optim_step, {202, json_type, body});
    REQUIRE_FALSE(read.has_value());
    CHECK(read.error().code == Errc::protocol_error);
    CHECK(read.error().http_status == 202);
  }
  CHECK_FALSE(wire::read_future(RequestType::optim_step, {200, protobuf_type, ""}).has_value());
}

TEST_CASE("Results are written in the form that the poll accepts", "[api][future]") {
  ForwardBackwardOutput output{.loss_fn_output_type = "T", .metrics = {{"loss:sum", 1.5}}};
  output.loss_fn_outputs.push_back({{"logprobs", TensorData::of(std::vector<float>{-0.5F})}});
  FuturePoll done{FutureValue{output}};

  auto binary = wire::write_future(done, "req-1", "application/x-protobuf, application/json");
  REQUIRE(binary.has_value());
  CHECK(binary->content_type == "application/x-protobuf");
  CHECK(poll(RequestType::forward, {200, protobuf_type, binary->body}) == done);

  auto json = wire::write_future(done, "req-1", "application/json");
  REQUIRE(json.has_value());
  CHECK(json->content_type == "application/json");
  CHECK(poll(RequestType::forward, json->body) == done);

  FuturePoll step{FutureValue{OptimStepResponse{}}};
  auto only_json = wire::write_future(step, "req-1", "application/x-protobuf");
  REQUIRE(only_json.has_value());
  CHECK(only_json->content_type == "application/json");
}

TEST_CASE("All states of a future are read as they were written", "[api][future]") {
  for (const auto& state :
       {FuturePoll{FuturePending{QueueState::paused_rate_limit, "too many", {}}},
        FuturePoll{FutureTooLarge{12}},
        FuturePoll{FutureFailed{"\"no\"", ErrorCategory::server}}}) {
    auto written = wire::write_future(state, "req-1", "application/x-protobuf");
    REQUIRE(written.has_value());
    CHECK(poll(RequestType::sample, written->body) == state);
  }
}

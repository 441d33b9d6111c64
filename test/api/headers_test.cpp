// SPDX-License-Identifier: Apache-2.0
#include "api/headers.hpp"

#include "api/endpoint.hpp"
#include "api/version.hpp"
#include "test/catch.hpp"

#include <algorithm>
#include <regex>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

std::string value_of(const HttpHeaders& headers, std::string_view name) {
  auto found = std::find_if(headers.begin(), headers.end(),
                            [&](const auto& header) { return header.first == name; });
  return found == headers.end() ? "(none)" : found->second;
}

} // namespace

TEST_CASE("Idempotency keys are random UUIDs", "[api][headers]") {
  const std::regex uuid{"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"};
  auto key = make_idempotency_key();
  CHECK(std::regex_match(key, uuid));
  CHECK(key != make_idempotency_key());
}

TEST_CASE("Each kind of call has its headers", "[api][headers]") {
  CHECK(value_of(get_headers(), "Content-Type") == "(none)");
  CHECK(value_of(get_headers(), "X-Idempotency-Key") == "(none)");
  CHECK(value_of(json_headers("k"), "Content-Type") == "application/json");
  CHECK(value_of(json_headers("k"), "X-Idempotency-Key") == "k");
  CHECK(value_of(sample_headers("k"), "X-Tinker-Sampling-Backpressure") == "1");
  CHECK(value_of(protobuf_headers("k"), "Content-Type") == "application/x-protobuf");
  CHECK(value_of(protobuf_headers("k"), "Content-Encoding") == "(none)");
  CHECK(value_of(protobuf_headers("k", "zstd"), "Content-Encoding") == "zstd");
}

TEST_CASE("Polls say what they wait for", "[api][headers]") {
  auto first = poll_headers(RequestType::forward_backward, 0, 1'500ms, ResultFormat::either);
  CHECK(value_of(first, "Accept") == "application/x-protobuf, application/json");
  CHECK(value_of(first, "X-Tinker-Request-Type") == "ForwardBackward");
  CHECK(value_of(first, "X-Tinker-Request-Iteration") == "0");
  CHECK(value_of(first, "X-Tinker-Create-Promise-Roundtrip-Time") == "1.500000");
  auto later = poll_headers(RequestType::sample, 3, 1'500ms, ResultFormat::protobuf);
  CHECK(value_of(later, "Accept") == "application/x-protobuf");
  CHECK(value_of(later, "X-Tinker-Request-Iteration") == "3");
  CHECK(value_of(later, "X-Tinker-Create-Promise-Roundtrip-Time") == "(none)");
  auto step = poll_headers(RequestType::optim_step, 0, std::nullopt, ResultFormat::protobuf);
  CHECK(value_of(step, "Accept") == "application/json");
}

TEST_CASE("Headers are merged by name, in any case", "[api][headers]") {
  HttpHeaders headers{{"Accept", "a"}};
  merge_headers(headers, {{"accept", "b"}, {"X-New", "c"}});
  CHECK(headers == HttpHeaders{{"Accept", "b"}, {"X-New", "c"}});
}

TEST_CASE("Only a credential makes a credential header", "[api][headers]") {
  CHECK(credential_headers({}).empty());
  CHECK(value_of(credential_headers("tml-1"), "X-API-Key") == "tml-1");
}

TEST_CASE("Requests follow from their endpoint", "[api][headers]") {
  auto get = make_request(Endpoint::healthz, "", "k");
  CHECK(get.method == "GET");
  CHECK(get.path == "/api/v1/healthz");
  CHECK(get.body == nullptr);
  auto post = make_request(Endpoint::asample, "{}", "k", 5s);
  CHECK(post.method == "POST");
  CHECK(post.path == "/api/v1/asample");
  CHECK(*post.body == "{}");
  CHECK(post.timeout == 5s);
  CHECK(value_of(post.headers, "X-Tinker-Sampling-Backpressure") == "1");
  CHECK(post.secret_headers.empty());
}

TEST_CASE("We say who we are", "[api][headers]") {
  CHECK(user_agent() == "tinkaf/" + std::string{version()});
}

// SPDX-License-Identifier: Apache-2.0
#include "api/trace_context.hpp"

#include "test/catch.hpp"

#include <set>

using namespace tinkaf;

namespace {

// The example of the W3C recommendation.
constexpr auto parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00";

std::string header(const HttpHeaders& headers, const std::string& name) {
  for (const auto& [key, value] : headers)
    if (key == name)
      return value;
  return {};
}

TraceContext context(const TraceOptions& options) {
  auto made = TraceContext::create(options);
  REQUIRE(made.has_value());
  REQUIRE(made->has_value());
  return **made;
}

} // namespace

TEST_CASE("Without tracing there are no trace headers", "[api][trace]") {
  CHECK_FALSE(TraceContext::create({}).value().has_value());
}

TEST_CASE("Requests share a trace and have parents of their own", "[api][trace]") {
  auto trace = context({.enabled = true});
  std::set<std::string> seen;
  for (int i = 0; i < 100; ++i) {
    HttpHeaders headers{{"Accept", "x"}};
    trace.add_to(headers);
    auto value = header(headers, "traceparent");
    REQUIRE(value.size() == 55);
    CHECK(value.substr(0, 36) == "00-" + trace.trace_id() + "-");
    CHECK(value.substr(52) == "-01");
    CHECK(header(headers, "tracestate").empty());
    // Valid for others as well: it can be joined.
    CHECK(context({.enabled = true, .traceparent = value}).trace_id() == trace.trace_id());
    seen.insert(value);
  }
  CHECK(seen.size() == 100);
  CHECK(context({.enabled = true}).trace_id() != trace.trace_id());
}

TEST_CASE("A trace given by the user is joined, with its flags and state", "[api][trace]") {
  auto trace = context({.enabled = true, .traceparent = parent, .tracestate = "vendor=1"});
  HttpHeaders headers;
  trace.add_to(headers);
  auto value = header(headers, "traceparent");
  CHECK(value.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"));
  CHECK(value.ends_with("-00"));
  CHECK(value != parent);
  CHECK(header(headers, "tracestate") == "vendor=1");
}

TEST_CASE("The user's own trace header stays as it is", "[api][trace]") {
  auto trace = context({.enabled = true, .tracestate = "vendor=1"});
  HttpHeaders headers{{"TraceParent", "mine"}};
  trace.add_to(headers);
  CHECK(headers == HttpHeaders{{"TraceParent", "mine"}});
}

TEST_CASE("A malformed trace is refused", "[api][trace]") {
  for (const auto* bad : {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
                          "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                          "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
                          "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                          "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
                          "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0x"}) {
    INFO(bad);
    auto made = TraceContext::create({.enabled = true, .traceparent = bad});
    REQUIRE_FALSE(made.has_value());
    CHECK(made.error().message.find(bad) != std::string::npos);
  }
  CHECK_FALSE(TraceContext::create({.enabled = true, .tracestate = "a\nb"}).has_value());
}

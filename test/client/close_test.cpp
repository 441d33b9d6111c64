// SPDX-License-Identifier: Apache-2.0
#include "client/service.hpp"
#include "test/catch.hpp"
#include "test/support/scripted_peer.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>

using namespace std::chrono_literals;
using namespace tinkaf;

// The end of a service, against a peer that plays a script.

namespace {

constexpr auto key = "tml-hush-hush";

/// What opens a session.
std::vector<test::PeerReply> opening() {
  return {{.body = "{}"}, {.body = "{}"}, {.body = R"({"session_id":"session-1"})"}};
}

Result<Service> connect(const test::ScriptedPeer& peer, bool telemetry = true) {
  ClientOptions options;
  options.base_url = peer.url();
  options.api_key = key;
  options.telemetry = telemetry;
  options.telemetry_drain = 200ms;
  return Service::connect(std::move(options), {});
}

std::size_t entries(const char* folder) {
  auto begin = std::filesystem::directory_iterator{folder};
  return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator{}));
}

/// Threads and open files of this process.
std::pair<std::size_t, std::size_t> census() {
  return {entries("/proc/self/task"), entries("/proc/self/fd")};
}

} // namespace

TEST_CASE("A closed service has sent its telemetry, in which there is no credential",
          "[client][close][telemetry]") {
  auto script = opening();
  script.push_back({.status = 400, .body = R"({"detail":"tml-hush-hush my prompt"})"});
  script.push_back({.body = R"({"status":"accepted"})"});
  test::ScriptedPeer peer{script};
  auto service = connect(peer);
  REQUIRE(service.has_value());
  auto refused = service->get_server_capabilities().get();
  REQUIRE_FALSE(refused.has_value());
  CHECK(to_string(refused.error()).find("hush") == std::string::npos);
  auto metrics = service->metrics().get();
  REQUIRE(metrics.has_value());
  const auto& capabilities = metrics->endpoints.at("get_server_capabilities");
  CHECK(capabilities.outcomes.at("invalid_argument") == 1);
  CHECK(capabilities.queue_time.count == 1);
  service->close();
  auto requests = peer.requests();
  REQUIRE(requests.size() == 5);
  CHECK(requests[4].target == "/api/v1/telemetry");
  for (const auto* event : {"SESSION_START", "user_error", "SESSION_END"})
    CHECK(requests[4].body.find(event) != std::string::npos);
  for (const auto& request : requests) {
    CHECK(request.body.find("hush") == std::string::npos);
    CHECK(request.body.find("prompt") == std::string::npos);
    CHECK(request.target.find("hush") == std::string::npos);
    for (const auto& [name, value] : request.headers)
      CHECK((name == "x-api-key") == (value.find("hush") != std::string::npos));
  }
}

TEST_CASE("A telemetry service that hangs keeps nobody waiting", "[client][close][telemetry]") {
  auto script = opening();
  script.push_back({.kind = test::PeerReply::Kind::stall});
  test::ScriptedPeer peer{script};
  auto service = connect(peer);
  REQUIRE(service.has_value());
  service->close(); // the peer never answers: to get here at all is the point
  CHECK(peer.requests().size() == 4);
  auto late = service->get_server_capabilities().get();
  REQUIRE_FALSE(late.has_value());
  CHECK(late.error().code == Errc::cancelled);
  service->close();
}

TEST_CASE("Fifty services leave no thread and no file behind", "[client][close]") {
  auto services = [](int count) {
    test::ScriptedPeer peer{{}};
    for (int i = 0; i < count; ++i) {
      for (auto& reply : opening())
        peer.add(std::move(reply));
      auto service = connect(peer, false);
      REQUIRE(service.has_value());
      if (i % 2 == 0)
        service->close();
    }
  };
  services(1); // what is opened once for the whole process is open now
  auto before = census();
  services(50);
  // A thread that was waited for may still have an entry for a moment, as one may have had before.
  auto grown = [&] {
    auto now = census();
    return now.first > before.first || now.second > before.second;
  };
  auto patience = std::chrono::steady_clock::now() + 20s;
  while (grown() && std::chrono::steady_clock::now() < patience)
    std::this_thread::yield();
  CHECK_FALSE(grown());
}

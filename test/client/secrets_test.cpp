// SPDX-License-Identifier: Apache-2.0
#include "client/service.hpp"
#include "test/catch.hpp"
#include "test/support/scripted_peer.hpp"

#include <chrono>
#include <mutex>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

// A service that says credentials back in whatever it answers.

namespace {

constexpr auto limit = 60s;

/// All of these have it in common.
constexpr auto mark = "hush";
constexpr auto key = "tml-hush-key";
constexpr auto header_secret = "header-hush-value";
constexpr auto token = "token-hush-value";

const std::string echo = "you said tml-hush-key and header-hush-value";
const std::string echo_all = echo + " and token-hush-value";

/// Texts that a user gets to see; from any thread.
class Texts {
public:
  void add(std::string text) {
    std::lock_guard lock{mutex_};
    texts_.push_back(std::move(text));
  }

  void add(const Error& error) {
    add(to_string(error) + ' ' + error.message + ' ' + error.request_id);
  }

  /// How many there are, and all in one.
  std::pair<std::size_t, std::string> all() {
    std::lock_guard lock{mutex_};
    std::string result;
    for (const auto& text : texts_)
      result += text + '\n';
    return {texts_.size(), result};
  }

private:
  std::mutex mutex_;
  std::vector<std::string> texts_;
};

} // namespace

TEST_CASE("No credential comes back to the eye, whatever a service says back",
          "[client][secrets][telemetry]") {
  test::ScriptedPeer peer{
      {{.body = "{}"},
       {.body = "{}"},
       {.body = R"({"session_id":"session-1","info_message":")" + echo + R"(","warning_message":")"
                + echo + R"(","error_message":")" + echo + R"("})"},
       {.status = 404, .body = echo},
       {.body = R"({"request_id":"create"})"},
       {.body = R"({"model_id":"model-1"})"},
       // an optimizer step that waits and then fails
       {.body = R"({"request_id":"step"})"},
       {.body = R"({"type":"try_again","queue_state":"paused_capacity","queue_state_reason":")"
                + echo + R"("})"},
       {.body = R"({"error":")" + echo + R"(","category":"user"})"},
       // no JSON, and a refusal whose id is a credential
       {.body = "[" + echo},
       {.status = 400,
        .body = R"({"detail":")" + echo + R"("})",
        .headers = {{"Content-Type", "application/json"}, {"x-request-id", key}}},
       // a checkpoint of another account
       {.status = 404, .body = R"({"detail":")" + echo_all + R"("})"},
       {.body = R"({"request_id":"load"})"},
       {.body = R"({"error":")" + echo_all + R"("})"},
       // telemetry
       {.body = "{}"}}};
  Texts texts;
  ClientOptions options;
  options.base_url = peer.url();
  options.api_key = key;
  options.secret_headers = {{"X-Secret", header_secret}};
  options.wire_format = WireFormat::json;
  options.telemetry_drain = 5s;
  options.retry.max_attempts = 1;
  options.on_queue_state = [&](const QueueStateChange& x) { texts.add(x.reason); };
  auto service = Service::connect(std::move(options), [&](const Notice& x) { texts.add(x.text); });
  REQUIRE(service.has_value());
  auto client = service->create_lora_training_client("tiny");
  REQUIRE(client.has_value());
  texts.add(client->optim_step().get(limit).error());
  texts.add(client->get_info().get(limit).error());
  texts.add(client->unload().get(limit).error());
  texts.add(service
                ->create_training_client_from_state(
                    {.path = "tinker://run/weights/a", .weights_access_token = Secret{token}})
                .error());
  auto metrics = service->metrics().get(limit);
  REQUIRE(metrics.has_value());
  for (const auto& [name, endpoint] : metrics->endpoints)
    texts.add(name);
  service->close();

  auto [count, text] = texts.all();
  INFO(text);
  CHECK(count >= 10);
  CHECK(text.find("you said <redacted> and <redacted> and <redacted>") != std::string::npos);
  CHECK(text.find(mark) == std::string::npos);
  std::string telemetry;
  for (const auto& request : peer.requests())
    if (request.target == "/api/v1/telemetry")
      telemetry += request.body;
  CHECK(telemetry.find("future.failed") != std::string::npos);
  CHECK(telemetry.find(mark) == std::string::npos);
}

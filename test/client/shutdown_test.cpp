// SPDX-License-Identifier: Apache-2.0
#include "client/service.hpp"
#include "test/client/local_service.hpp"
#include "test/support/scripted_peer.hpp"

#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <optional>

using namespace std::chrono_literals;
using namespace tinkaf;

// The end of a service with work outstanding: everybody is answered, and it does not take long.

namespace {

/// No end may take longer; it is far above what any should.
constexpr auto bound = 5s;

Result<Service> connect(const test::ScriptedPeer& peer) {
  ClientOptions options;
  options.base_url = peer.url();
  options.api_key = "tml-key";
  options.telemetry = false;
  return Service::connect(std::move(options), {});
}

/// What opens a session.
std::vector<test::PeerReply> opening() {
  return {{.body = "{}"}, {.body = "{}"}, {.body = R"({"session_id":"session-1"})"}};
}

Batch batch() {
  return make_batch(
      {Datum{.model_input = ModelInput::from_ints({10, 40, 41}),
             .loss_fn_inputs
             = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, 42})}}}});
}

/// Ends what `end` does and checks that it did not take too long.
template <class End>
void ends_soon(End end) {
  auto began = std::chrono::steady_clock::now();
  end();
  CHECK(std::chrono::steady_clock::now() - began < bound);
}

template <class T>
void is_cancelled(const Future<T>& future) {
  auto answer = future.get(bound);
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::cancelled);
}

} // namespace

TEST_CASE("A service ends while a result is waited for that never comes",
          "[client][shutdown][supervision]") {
  auto script = opening();
  script.push_back({.body = R"({"supported_models":[]})"});
  script.push_back({.body = R"({"model_id":"model-1"})"});
  script.push_back({.body = R"({"request_id":"never","model_id":"model-1"})"});
  script.push_back({.kind = test::PeerReply::Kind::stall});
  test::ScriptedPeer peer{script};
  std::optional<Future<OptimStepResponse>> step;
  ends_soon([&] {
    auto service = connect(peer);
    REQUIRE(service.has_value());
    auto client = service->create_lora_training_client("tiny");
    REQUIRE(client.has_value());
    step = client->optim_step({});
    REQUIRE(peer.wait_for_requests(7).size() == 7); // the poll is under way
  });
  is_cancelled(*step);
}

TEST_CASE_METHOD(test::LocalService, "A service ends while functions of custom losses run",
                 "[client][shutdown][supervision][custom_loss]") {
  auto entered = std::make_shared<std::promise<void>>();
  std::optional<Future<ForwardBackwardOutput>> loss;
  std::optional<Future<OptimStepResponse>> behind;
  auto leave = std::make_shared<std::promise<void>>();
  auto left = std::make_shared<std::atomic<bool>>(false);
  bool heeds = false;
  SECTION("one that heeds its stop token") {
    heeds = true;
  }
  SECTION("one that does not") {}
  ends_soon([&] {
    auto service = connect();
    auto client = train(service);
    loss = client.forward_backward_custom(
        batch(), [=](const CustomLossInput& input) -> Result<CustomLossValue> {
          entered->set_value();
          auto stopped = std::promise<void>{};
          auto on_stop = std::stop_callback{input.stop, [&] {
                                              if (heeds)
                                                stopped.set_value();
                                            }};
          if (heeds)
            stopped.get_future().wait();
          else
            leave->get_future().wait();
          *left = true;
          return fail(Errc::cancelled, "stopped");
        });
    behind = client.optim_step({});
    entered->get_future().wait();
  });
  is_cancelled(*loss);
  is_cancelled(*behind);
  CHECK(*left == heeds);
  leave->set_value();
}

TEST_CASE("A service ends while a checkpoint is downloaded", "[client][shutdown][supervision]") {
  test::ScriptedPeer peer{opening()};
  peer.add({.body = R"({"url":")" + peer.url() + R"(/file","expires":"2099-01-01T00:00:00Z"})"});
  peer.add({.kind = test::PeerReply::Kind::stall});
  auto folder = std::filesystem::temp_directory_path()
                / ("tinkaf-shutdown-test-" + std::to_string(std::random_device{}()));
  std::optional<Future<DownloadedCheckpoint>> download;
  ends_soon([&] {
    auto service = connect(peer);
    REQUIRE(service.has_value());
    auto rest = service->create_rest_client();
    REQUIRE(rest.has_value());
    download = rest->download_checkpoint(
        {.checkpoint = {"run", "weights/a"}, .destination = folder / "out"});
    REQUIRE(peer.wait_for_requests(5).size() == 5); // the archive is asked for
  });
  is_cancelled(*download);
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

// SPDX-License-Identifier: Apache-2.0
#include "client/training_client.hpp"
#include "test/client/local_service.hpp"
#include "test/support/scripted_peer.hpp"

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

using namespace std::chrono_literals;
using namespace tinkaf;

// Functions of the user's that are still there when their client ends.

namespace {

Batch batch() {
  return make_batch({Datum{
      .model_input = ModelInput::from_ints({10, 40}),
      .loss_fn_inputs = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41})}}}});
}

/// Goes with the runtime of a service.
struct Life {
  [[nodiscard]] NoticeSink sink() {
    return [held = std::move(held_)](const Notice&) {};
  }

  /// Waits for the end of the runtime, which no handle of the test's keeps alive.
  [[nodiscard]] bool ends() const {
    auto patience = std::chrono::steady_clock::now() + 60s;
    while (!seen_.expired() && std::chrono::steady_clock::now() < patience)
      std::this_thread::yield();
    return seen_.expired();
  }

private:
  std::shared_ptr<int> held_ = std::make_shared<int>(0);
  std::weak_ptr<int> seen_ = held_;
};

struct Fixture : test::LocalService {
  Service connect_watched() {
    auto service = Service::connect(options(), life.sink());
    REQUIRE(service.has_value());
    return *service;
  }

  Life life;
};

/// A source that gives nothing before it is released.
struct Blocked {
  std::optional<SampleRequest> operator()() const {
    entered->set_value();
    release.wait();
    return std::nullopt;
  }

  std::shared_ptr<std::promise<void>> entered = std::make_shared<std::promise<void>>();
  std::shared_future<void> release;
};

} // namespace

TEST_CASE_METHOD(Fixture, "A service may end on another thread than it began on", "[client][end]") {
  std::optional client = train(connect_watched());
  std::thread{[&] { client.reset(); }}.join();
  CHECK(life.ends());
}

TEST_CASE_METHOD(Fixture, "A custom loss that owns the last client lets all end",
                 "[client][end][custom_loss]") {
  std::promise<void> entered;
  std::promise<void> release;
  {
    auto client = train(connect_watched());
    (void)client.forward_backward_custom(
        batch(),
        [client, &entered, released = release.get_future().share()](
            const CustomLossInput&) -> Result<CustomLossValue> {
          entered.set_value();
          released.wait();
          return fail(Errc::cancelled, "nobody wants it");
        });
    entered.get_future().wait();
  }
  release.set_value();
  CHECK(life.ends());
}

TEST_CASE("A custom loss that owns the last client and never runs lets all end",
          "[client][end][custom_loss]") {
  test::ScriptedPeer peer{
      {{.body = "{}"},
       {.body = "{}"},
       {.body = R"({"session_id":"session-1"})"},
       {.status = 404},
       {.body = R"({"request_id":"create"})"},
       {.body = R"({"model_id":"model-1"})"},
       {.status = 400, .body = R"({"detail":"no"})", .kind = test::PeerReply::Kind::stall}}};
  ClientOptions options;
  options.base_url = peer.url();
  options.api_key = "tml-key";
  options.telemetry = false;
  options.wire_format = WireFormat::json;
  Life life;
  {
    auto service = Service::connect(std::move(options), life.sink());
    REQUIRE(service.has_value());
    auto client = service->create_lora_training_client("tiny");
    REQUIRE(client.has_value());
    (void)client->forward_backward_custom(
        batch(), [owner = *client](const CustomLossInput&) -> Result<CustomLossValue> {
          return fail(Errc::internal, "not to be called");
        });
    CHECK(peer.wait_for_requests(7)[6].target == "/api/v1/forward");
  }
  peer.release(); // the answer lets the training client's actor drop the function
  CHECK(life.ends());
}

TEST_CASE_METHOD(Fixture, "A source that blocks does not hold up the end of its stream and client",
                 "[client][end][stream]") {
  std::promise<void> release;
  Blocked source{.release = release.get_future().share()};
  {
    auto client = connect_watched().create_sampling_client("tiny");
    REQUIRE(client.has_value());
    auto stream = client->sample_stream(source, 4);
    auto reader = std::async(std::launch::async, [&] { return stream.next(); });
    source.entered->get_future().wait();
    stream.cancel();
    CHECK_FALSE(reader.get().has_value());
  }
  CHECK(life.ends());
  release.set_value();
}

TEST_CASE_METHOD(Fixture, "A source that takes a stop token is asked to stop",
                 "[client][end][stream]") {
  std::promise<void> entered;
  std::promise<void> left;
  std::mutex mutex;
  std::condition_variable_any changed;
  auto client = connect().create_sampling_client("tiny");
  REQUIRE(client.has_value());
  std::optional stream = client->sample_stream(
      [&](const std::stop_token& stop) -> std::optional<SampleRequest> {
        entered.set_value();
        std::unique_lock lock{mutex};
        changed.wait(lock, stop, [] { return false; });
        left.set_value();
        return std::nullopt;
      },
      4);
  auto reader = std::async(std::launch::async, [copy = *stream] { return copy.next(); });
  entered.get_future().wait();
  stream->cancel();
  left.get_future().wait();
  CHECK_FALSE(reader.get().has_value());
}

TEST_CASE_METHOD(Fixture, "A source that owns the last client lets all end",
                 "[client][end][stream]") {
  {
    auto client = connect_watched().create_sampling_client("tiny");
    REQUIRE(client.has_value());
    auto drawn = std::make_shared<int>(0);
    auto stream = client->sample_stream(
        [owner = *client, drawn]() -> std::optional<SampleRequest> {
          return SampleRequest{.prompt = ModelInput::from_ints({10, (*drawn)++}),
                               .sampling_params = {.max_tokens = 1}};
        },
        2);
    REQUIRE(stream.next().has_value());
  }
  CHECK(life.ends());
}

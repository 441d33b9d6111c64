// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/wire/future.hpp"
#include "api/wire/json.hpp"
#include "server/server.hpp"
#include "test/catch.hpp"
#include "test/server/http_client.hpp"
#include "test/server/scripted_trainer.hpp"
#include "test/train/temp_folder.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::test {

/// Calls of the API over one connection. What does not succeed though it should is thrown, so that
/// threads beside the test may hold clients too, where no assertion may stand.
class ApiClient {
public:
  explicit ApiClient(const Server& server) : http(server.port()) {}

  HttpAnswer post(const std::string& call, std::string_view body) {
    return http.call("POST", "/api/v1/" + call, body, {{"Content-Type", "application/json"}});
  }

  HttpAnswer get(const std::string& call) {
    return http.call("GET", "/api/v1/" + call);
  }

  HttpAnswer put(const std::string& call, std::string_view body) {
    return http.call("PUT", "/api/v1/" + call, body, {{"Content-Type", "application/json"}});
  }

  HttpAnswer remove(const std::string& call) {
    return http.call("DELETE", "/api/v1/" + call);
  }

  /// The id of the future that a call was answered with.
  std::string submit(const std::string& call, std::string_view body) {
    return wire::from_json<FutureRef>(accepted(call, body)).value().request_id;
  }

  /// Polls until there is a result or a failure.
  FuturePoll wait(RequestType type, const std::string& request_id) {
    while (true) {
      const auto body = accepted("retrieve_future", poll_body(request_id));
      auto poll = wire::read_future(type, {.status = 200, .body = body}).value();
      if (!std::holds_alternative<FuturePending>(poll))
        return poll;
    }
  }

  /// The result of an operation that succeeds.
  template <class T>
  T result(RequestType type, const std::string& request_id) {
    auto poll = wait(type, request_id);
    if (const auto* failed = std::get_if<FutureFailed>(&poll))
      throw std::runtime_error{"the operation failed: " + failed->error};
    return std::get<T>(std::get<FutureValue>(std::move(poll)));
  }

  /// The failure of an operation that fails.
  FutureFailed failure(RequestType type, const std::string& request_id) {
    return std::get<FutureFailed>(wait(type, request_id));
  }

  std::string session() {
    const auto body = accepted("create_session", wire::to_json(CreateSessionRequest{}));
    return wire::from_json<CreateSessionResponse>(body).value().session_id;
  }

  std::string model(const std::string& session_id, std::int64_t number = 0,
                    const std::string& base = "scripted") {
    CreateModelRequest request{
        .session_id = session_id, .model_seq_id = number, .base_model = base};
    request.lora_config = LoraConfig{.rank = 4, .seed = 1};
    const auto id = submit("create_model", wire::to_json(request));
    return result<CreateModelResponse>(RequestType::create_model, id).model_id;
  }

  static std::string poll_body(const std::string& request_id, bool metadata = false) {
    return wire::to_json(RetrieveFutureRequest{request_id, metadata});
  }

  HttpClient http;

private:
  std::string accepted(const std::string& call, std::string_view body) {
    auto answer = post(call, body);
    if (answer.status != 200)
      throw std::runtime_error{call + " was answered with " + std::to_string(answer.status) + ": "
                               + answer.body};
    return std::move(answer.body);
  }
};

inline Datum datum(Token token) {
  return {.model_input = ModelInput::from_ints({token, 1}),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{1, 2})},
                             {"weights", TensorData::of(std::vector<float>{1, 1})}}};
}

/// A pass over one datum that begins with the token.
inline std::string pass(const std::string& model_id, std::optional<std::int64_t> seq_id,
                        Token token, bool forward_only = false) {
  return wire::to_json(ForwardBackwardRequest{.model_id = model_id,
                                              .seq_id = seq_id,
                                              .data = BatchSlice::whole(make_batch({datum(token)})),
                                              .forward_only = forward_only})
      .value();
}

inline std::string step(const std::string& model_id, std::optional<std::int64_t> seq_id) {
  return wire::to_json(OptimStepRequest{.model_id = model_id, .seq_id = seq_id}).value();
}

inline std::string sample(const std::string& sampler, std::int64_t seq_id,
                          std::optional<std::int64_t> seed = {}) {
  return wire::to_json(
             AsampleRequest{.sample = {.prompt = ModelInput::from_ints({1}),
                                       .sampling_params = {.max_tokens = 4, .seed = seed}},
                            .sampling_session_id = sampler,
                            .seq_id = seq_id})
      .value();
}

/// A server over a scripted trainer, with a state folder of its own.
struct ServerFixture {
  ServerFixture() {
    options.state_dir = folder.path() / "state";
    restart();
  }
  ~ServerFixture() {
    trainer->release();
  }
  ServerFixture(const ServerFixture&) = delete;
  ServerFixture& operator=(const ServerFixture&) = delete;

  /// Ends the server and starts one with `options` on the same folder.
  void restart() {
    server.reset();
    auto started = Server::start(options, {trainer});
    REQUIRE(started.has_value());
    server = std::move(*started);
  }

  [[nodiscard]] ApiClient client() const {
    return ApiClient{*server};
  }

  TempFolder folder;
  ServerOptions options;
  std::shared_ptr<ScriptedTrainer> trainer = std::make_shared<ScriptedTrainer>();
  std::unique_ptr<Server> server;
};

} // namespace tinkaf::test

// SPDX-License-Identifier: Apache-2.0
#include "api/wire/protobuf.hpp"
#include "server/model/random_model.hpp"
#include "test/server/clock_fixture.hpp"

#include <algorithm>
#include <limits>

using namespace tinkaf;
using namespace tinkaf::test;

// What has hurt users of other servers, against one that really computes.

namespace {

constexpr auto pass_type = RequestType::forward_backward;

struct Fixture {
  Fixture() {
    auto config = model::small_shape();
    config.eos_token_ids = {};
    REQUIRE(model::write_random_model(folder.path() / "model", config).has_value());
    auto started = Server::start({.state_dir = folder.path() / "state",
                                  .models = {{.name = "small", .dir = folder.path() / "model"}},
                                  .threads = 1});
    REQUIRE(started.has_value());
    server = std::move(*started);
    api.emplace(*server);
    session = api->session();
    model_id = api->model(session, 0, "small");
  }

  /// The text of a refusal with 400.
  std::string refused(const std::string& call, const std::string& body) {
    return ClockFixture::refusal(api->post(call, body), 400);
  }

  /// A pass as the binary clients send it, which can hold what JSON cannot.
  [[nodiscard]] static std::string binary(const ForwardBackwardRequest& request) {
    return wire::to_protobuf(request).value();
  }

  HttpAnswer send(const std::string& body) {
    return api->http.call("POST", "/api/v1/forward_backward", body,
                          {{"Content-Type", "application/x-protobuf"}});
  }

  [[nodiscard]] ForwardBackwardRequest request(std::int64_t seq_id, std::vector<Datum> data) const {
    return {.model_id = model_id,
            .seq_id = seq_id,
            .data = BatchSlice::whole(make_batch(std::move(data)))};
  }

  ForwardBackwardOutput passed(const ForwardBackwardRequest& what) {
    return api->result<ForwardBackwardOutput>(
        pass_type, api->submit("forward_backward", wire::to_json(what).value()));
  }

  Metrics stepped(std::int64_t seq_id) {
    return api
        ->result<OptimStepResponse>(RequestType::optim_step,
                                    api->submit("optim_step", step(model_id, seq_id)))
        .metrics;
  }

  TempFolder folder;
  std::unique_ptr<Server> server;
  std::optional<ApiClient> api;
  std::string session;
  std::string model_id;
};

Datum long_datum(std::size_t length) {
  return {.model_input = ModelInput::from_ints(std::vector<Token>(length, 7)),
          .loss_fn_inputs
          = {{"target_tokens", TensorData::of(std::vector<std::int64_t>(length, 8))},
             {"weights", TensorData::of(std::vector<float>(length, 1.0F))}}};
}

/// Puts `to` where the text says `from`.
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

} // namespace

TEST_CASE_METHOD(Fixture, "Data that the model cannot take are told with index and limit",
                 "[server][pitfalls]") {
  const std::string call = "forward_backward";
  const auto good = long_datum(4);
  const auto json = [&](std::int64_t number, std::vector<Datum> data) {
    return wire::to_json(request(number, std::move(data))).value();
  };
  CHECK(refused(call, json(1, {})) == "data: must hold at least one datum");
  CHECK(refused(call, json(2, {good, long_datum(0)})) == "data[1].model_input: is empty");
  CHECK(refused(call, json(3, {good, long_datum(129)}))
        == "PromptTooLong: data[1].model_input: 129 tokens, more than the model's context window "
           "of 128");
  auto other = good;
  other.loss_fn_inputs["weights"] = TensorData::of(std::vector<float>(3, 1.0F));
  CHECK(refused(call, json(4, {good, other}))
        == "data[1].loss_fn_inputs.weights: shape is [3], must be [4]");
  other = good;
  other.loss_fn_inputs.erase("target_tokens");
  CHECK(refused(call, json(5, {other})) == "data[0].loss_fn_inputs.target_tokens: is missing");
  other = good;
  other.loss_fn_inputs["mask"] = TensorData::of(std::vector<float>(4, 1.0F));
  CHECK(refused(call, json(6, {other}))
        == "data[0].loss_fn_inputs.mask: unknown; the losses take target_tokens, weights, "
           "logprobs, advantages");
  other = good;
  other.loss_fn_inputs["target_tokens"] = TensorData::of(std::vector<std::int64_t>{1, 2, 259, 3});
  CHECK(refused(call, json(7, {other}))
        == "data[0].loss_fn_inputs.target_tokens[2]: token 259 is outside the vocabulary of 259");
  // Nothing was gathered, and all seven numbers are used up.
  CHECK(stepped(8).at("grad_norm:mean") == 0.0);
}

TEST_CASE_METHOD(Fixture, "A loss that is not there, and a setting that is none, are named",
                 "[server][pitfalls]") {
  const auto ask = [&](int number, const std::string& loss) {
    return refused("forward_backward",
                   R"({"model_id":")" + model_id + R"(","seq_id":)" + std::to_string(number)
                       + R"(,"forward_backward_input":{"data":[{"model_input":{"chunks":[{"type":)"
                         R"("encoded_text","tokens":[1]}]},"loss_fn_inputs":{"target_tokens":)"
                         R"({"dtype":"int64","shape":[1],"data":[2]}}}],)"
                       + loss + "}}");
  };
  CHECK(
      ask(1, R"("loss_fn":"gspo")")
      == "forward_backward request: `forward_backward_input.loss_fn` is wrong: loss_fn is `gspo`, "
         "but must be one of cross_entropy, importance_sampling, ppo, cispo, dro");
  CHECK(ask(2, R"("loss_fn":"ppo","loss_fn_config":{"clip":0.2})")
        == "loss_fn_config.clip: unknown; ppo takes clip_low_threshold, clip_high_threshold");
  CHECK(ask(3, R"("loss_fn":"dro","loss_fn_config":{"beta":-1})")
        == "loss_fn_config.beta: is -1, must be a number from 0 on");
  CHECK(ask(4, R"("loss_fn":"ppo")")
        == "data[0].loss_fn_inputs.logprobs: is missing; ppo needs it");
}

TEST_CASE_METHOD(Fixture, "Numbers that are none are refused with tensor and place",
                 "[server][pitfalls]") {
  const auto bytes = [](float x) {
    return std::string{reinterpret_cast<const char*>(&x), sizeof x};
  };
  auto datum = long_datum(4);
  datum.loss_fn_inputs["weights"] = TensorData::of(std::vector<float>{1.0F, 1.0F, 77.0F, 1.0F});
  std::int64_t number = 0;
  for (const auto& [bad, name] : {std::pair{std::numeric_limits<float>::quiet_NaN(), "nan"},
                                  std::pair{std::numeric_limits<float>::infinity(), "inf"}}) {
    // Clients check before they write, so that it is put in here.
    const auto body = replaced(binary(request(++number, {datum})), bytes(77.0F), bytes(bad));
    CHECK(ClockFixture::refusal(send(body), 400)
          == "data[0].loss_fn_inputs.weights[2] is " + std::string{name}
                 + ", but must be finite (NonFiniteInTensor)");
  }
  for (const auto* word : {"null", "NaN", "1e999", "\"1\""}) {
    INFO(word);
    const auto json = wire::to_json(request(++number, {long_datum(1)})).value();
    const auto answer
        = api->post("forward_backward",
                    replaced(json, R"("data":[1.0])", R"("data":[)" + std::string{word} + "]"));
    CHECK(answer.status == 400);
    CHECK(answer.body.find(R"("category":"user")") != std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "Weights of zero give log-probabilities and no gradient",
                 "[server][pitfalls]") {
  auto datum = long_datum(5);
  datum.loss_fn_inputs["weights"] = TensorData::of(std::vector<float>(5));
  const auto output = passed(request(1, {datum, datum}));
  CHECK(output.metrics.at("loss:sum") == 0.0);
  CHECK(output.loss_fn_outputs.at(1).at("logprobs").floats()->size() == 5);
  for (const auto& [name, value] : output.metrics)
    CHECK(std::isfinite(value));
  CHECK(stepped(2).at("grad_norm:mean") == 0.0);
}

TEST_CASE_METHOD(Fixture, "A gradient beyond all numbers fails its step, and the next one works",
                 "[server][pitfalls]") {
  auto datum = long_datum(3);
  datum.loss_fn_inputs["weights"] = TensorData::of(std::vector<float>(3, 1e30F));
  const auto before = passed(request(1, {long_datum(3)}));
  (void)stepped(2); // a model whose B is not zero any more
  const auto learned = passed(request(3, {long_datum(3)})).metrics;
  (void)passed(request(4, {datum}));
  const auto failed
      = api->failure(RequestType::optim_step, api->submit("optim_step", step(model_id, 5)));
  CHECK(failed.error.starts_with("NonFiniteInTensor"));
  // Neither weights nor gradient are left of it.
  CHECK(passed(request(6, {long_datum(3)})).metrics == learned);
  CHECK(stepped(7).at("step:max") == 2.0);
}

TEST_CASE_METHOD(Fixture, "Without a limit a sample fills the context", "[server][pitfalls]") {
  const auto id = api->submit(
      "asample", R"({"base_model":"small","prompt":{"chunks":[{"type":"encoded_text","tokens":)"
                 R"([5,6,7]}]},"sampling_params":{"seed":1}})");
  const auto drawn = api->result<SampleResponse>(RequestType::sample, id).sequences.at(0);
  CHECK(drawn.tokens.size() == 125);
  CHECK(drawn.stop_reason == StopReason::length);
}

TEST_CASE_METHOD(Fixture, "Images are refused by a model that reads text", "[server][pitfalls]") {
  const std::string image
      = R"({"chunks":[{"type":"image","data":"iVBORw==","format":"png","expected_tokens":4}]})";
  CHECK(
      refused("asample", R"({"base_model":"small","prompt":)" + image + R"(,"sampling_params":{}})")
      == "prompt: chunks[0] is not text, so it has no token ids; this model reads text only");
  CHECK(refused("forward_backward",
                R"({"model_id":")" + model_id
                    + R"(","seq_id":1,"forward_backward_input":{"loss_fn":"cross_entropy","data":)"
                      R"([{"model_input":)"
                    + image
                    + R"(,"loss_fn_inputs":{"target_tokens":{"dtype":"int64","data":[1],"shape":)"
                      R"([1]}}}]}})")
        == "data[0].model_input: chunks[0] is not text, so it has no token ids; this model reads "
           "text only");
}

TEST_CASE_METHOD(Fixture, "A field that is missing or of a wrong type is named with its call",
                 "[server][pitfalls]") {
  CHECK(refused("retrieve_future", "{}") == "retrieve_future request: `request_id` is missing");
  CHECK(refused("retrieve_future", R"({"request_id":7})")
        == "retrieve_future request: `request_id` must be a string, got 7");
  CHECK(refused("session_heartbeat", "[]")
        == "session_heartbeat request: the body must be an object, got an array");
  CHECK(refused("weights_info", R"({"tinker_path":null})")
        == "weights_info request: `tinker_path` is missing");
  CHECK(refused("optim_step", R"({"model_id":"x","adam_params":[]})")
        == "optim_step request: `adam_params` must be an object, got an array");
  CHECK(refused("save_weights", R"({"model_id":"x","path":{}})")
        == "save_weights request: `path` must be a string, got an object");
  const auto answer
      = api->http.call("POST", "/api/v1/optim_step", "{}", {{"Content-Type", "text/plain"}});
  CHECK(ClockFixture::refusal(answer, 415)
        == "content-type: `text/plain` is not taken here, but application/json is");
}

// SPDX-License-Identifier: Apache-2.0
#include "actors/training_operations.hpp"
#include "api/batch_check.hpp"
#include "api/wire/json.hpp"
#include "test/catch.hpp"

#include <algorithm>

// Rows E, F, G, O, S, L, W and N of the table of operations: what is sent. docs/operations.md says
// where the types leave no room for a row.

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::operations;

namespace {

const Target json_target{.model_id = "m", .protobuf = false};

Batch batch() {
  auto datum = [](Token token) {
    return Datum{.model_input = ModelInput::from_ints({token}),
                 .loss_fn_inputs
                 = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{token})},
                    {"weights", TensorData::of(std::vector<float>{1})}}};
  };
  return make_batch({datum(1), datum(2), datum(3)});
}

std::string body_of(const Result<HttpCall>& call) {
  REQUIRE(call.has_value());
  return *call->request.body;
}

template <class T>
T sent(const Result<HttpCall>& call) {
  auto request = wire::from_json<T>(body_of(call));
  REQUIRE(request.has_value());
  return *request;
}

template <class T>
std::string refusal(const Result<T>& result) {
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().code == Errc::invalid_argument);
  CHECK(result.error().category == ErrorCategory::user);
  return result.error().message;
}

bool has(const std::string& text, const std::string& part) {
  UNSCOPED_INFO(text);
  return text.find(part) != std::string::npos;
}

} // namespace

// --- E: ensure_model -----------------------------------------------------------------------------

TEST_CASE("E2, E3: a model without a base is refused by name", "[actors][operations]") {
  CHECK(has(refusal(ensure_model(CreateModelRequest{.session_id = "s"}, json_target)),
            "base_model is empty"));
}

TEST_CASE("E7: rank and metadata travel, and are those of the SDK by default",
          "[actors][operations]") {
  auto plain = sent<CreateModelRequest>(
      ensure_model(CreateModelRequest{"s", 4, "b", {}, LoraConfig{}}, json_target));
  CHECK(plain.lora_config == LoraConfig{.rank = 32});
  CHECK(plain.user_metadata.empty());
  auto own = sent<CreateModelRequest>(ensure_model(
      CreateModelRequest{"s", 4, "b", {{"k", "v"}}, LoraConfig{.rank = 8}}, json_target));
  CHECK(own.lora_config->rank == 8);
  CHECK(own.user_metadata == UserMetadata{{"k", "v"}});
}

TEST_CASE("E8: the number of the model within its session travels", "[actors][operations]") {
  auto request = sent<CreateModelRequest>(
      ensure_model(CreateModelRequest{"s", 4, "b", {}, LoraConfig{}}, json_target));
  CHECK(request.session_id == "s");
  CHECK(request.model_seq_id == 4);
}

TEST_CASE("A model from a checkpoint names base and token, and the token shows nowhere else",
          "[actors][operations]") {
  auto from = LoadWeightsRequest{.session_id = "s",
                                 .model_seq_id = 2,
                                 .base_model = "other-base",
                                 .path = "tinker://run/weights/a",
                                 .weights_access_token = "tml-theirs"};
  auto created = sent<LoadWeightsRequest>(ensure_model(from, json_target));
  CHECK(created.base_model == "other-base");
  CHECK(created.weights_access_token == "tml-theirs");
  auto info = weights_info_request(from, json_target);
  CHECK_FALSE(has(*info.request.body, "tml-theirs"));
  CHECK(info.request.secret_headers == HttpHeaders{{"X-API-Key", "tml-theirs"}});
  from.path = "tinker://run/sampler_weights/a";
  auto wrong = refusal(ensure_model(from, json_target));
  CHECK(has(wrong, "to sample from"));
  CHECK_FALSE(has(wrong, "tml-theirs"));
}

// --- F and G: forward_backward, forward ----------------------------------------------------------

TEST_CASE("F1, F3: a loss that does not exist is refused with the five that do",
          "[actors][operations]") {
  for (const auto* name : {"mse", "", "CROSS_ENTROPY", "7"}) {
    auto message = refusal(parse_loss_fn(name));
    CHECK(has(message, "loss_fn"));
    CHECK(has(message, "cross_entropy"));
  }
}

TEST_CASE("F2: each of the five losses travels under its name", "[actors][operations]") {
  for (const auto* name : {"cross_entropy", "importance_sampling", "ppo", "cispo", "dro"}) {
    auto input = ForwardBackwardInput{batch(), parse_loss_fn(name).value()};
    auto call = send_forward_backward_request(BatchSlice::whole(input.data), input, 1, json_target);
    CHECK(has(body_of(call), std::string{R"("loss_fn":")"} + name + '"'));
  }
}

TEST_CASE("F4, F6: settings of a loss travel as numbers, or not at all", "[actors][operations]") {
  auto input = ForwardBackwardInput{batch(), LossFn::dro, LossFnConfig{{"beta", 1}}};
  auto with = send_forward_backward_request(BatchSlice::whole(input.data), input, 1, json_target);
  CHECK(sent<ForwardBackwardRequest>(with).loss_fn_config == LossFnConfig{{"beta", 1.0}});
  input.loss_fn_config.reset();
  auto without
      = send_forward_backward_request(BatchSlice::whole(input.data), input, 1, json_target);
  CHECK_FALSE(has(body_of(without), "loss_fn_config"));
}

TEST_CASE("F5: a setting that is none is refused by name", "[actors][operations]") {
  auto input = ForwardBackwardInput{batch(), LossFn::cross_entropy, LossFnConfig{{"clip", 0.2}}};
  CHECK(has(refusal(check_batch(input)), "loss_fn_config.clip"));
}

TEST_CASE("F13, G1: model, number and the order of the data are as they were given",
          "[actors][operations]") {
  auto input = ForwardBackwardInput{batch()};
  auto pass = GENERATE(false, true);
  auto slice = BatchSlice{input.data, 1, 3};
  auto call = pass ? send_forward_request(slice, input, 7, json_target)
                   : send_forward_backward_request(slice, input, 7, json_target);
  auto request = sent<ForwardBackwardRequest>(call);
  CHECK(call->request.path == (pass ? "/api/v1/forward" : "/api/v1/forward_backward"));
  CHECK(has(body_of(call), pass ? R"("forward_input")" : R"("forward_backward_input")"));
  CHECK(request.forward_only == pass);
  CHECK(request.model_id == "m");
  CHECK(request.seq_id == 7);
  auto sent_data = request.data.data();
  CHECK(std::equal(sent_data.begin(), sent_data.end(), input.data->begin() + 1));
}

// --- O: optim_step -------------------------------------------------------------------------------

TEST_CASE("O1: an optimizer step carries model, number and all six settings",
          "[actors][operations]") {
  auto params = AdamParams{.learning_rate = 0.5};
  auto request = sent<OptimStepRequest>(send_optim_step_request(params, 3, json_target));
  CHECK(request == OptimStepRequest{"m", 3, params});
  CHECK(has(refusal(send_optim_step_request({.beta1 = 2}, 3, json_target)), "beta1"));
}

// --- S, L, W: saves and loads --------------------------------------------------------------------

TEST_CASE("S1, S2, S4: a save carries its name, and its time to live if it has one",
          "[actors][operations]") {
  auto plain = sent<SaveWeightsRequest>(send_save_state_request("c", {}, 5, json_target));
  CHECK(plain == SaveWeightsRequest{.model_id = "m", .seq_id = 5, .path = "c"});
  auto options = SaveWeightsOptions{.ttl = 1h, .overwrite = true};
  auto timed = sent<SaveWeightsRequest>(send_save_state_request("c", options, 5, json_target));
  CHECK(timed.ttl_seconds == 3600);
  CHECK(timed.overwrite);
}

TEST_CASE("S3: a time to live that is not above zero is refused with its value",
          "[actors][operations]") {
  CHECK(has(refusal(send_save_state_request("c", {.ttl = 0s}, 1, json_target)), "ttl is 0 s"));
  CHECK(has(refusal(send_save_state_request("c", {.ttl = -1s}, 1, json_target)), "ttl is -1 s"));
  CHECK(has(refusal(send_save_state_request("", {}, 1, json_target)), "name is empty"));
  CHECK(has(refusal(send_save_state_request("a/b", {}, 1, json_target)), "`a/b`"));
}

TEST_CASE("L1: a load says whether the optimizer comes along", "[actors][operations]") {
  auto optimizer = GENERATE(true, false);
  auto request = sent<LoadWeightsRequest>(
      send_load_state_request("tinker://run/weights/a", optimizer, {}, 1, json_target));
  CHECK(request.optimizer == optimizer);
  CHECK(request.path == "tinker://run/weights/a");
  CHECK_FALSE(request.weights_access_token.has_value());
  CHECK(has(refusal(send_load_state_request("tinker://run/sampler_weights/a", optimizer, {}, 1,
                                            json_target)),
            "to sample from"));
}

TEST_CASE("W1, W2: a save to sample from has a name or a number", "[actors][operations]") {
  auto named = sent<SaveWeightsForSamplerRequest>(
      send_save_weights_for_sampler_request({.path = "s"}, 1, json_target));
  CHECK(named == SaveWeightsForSamplerRequest{.model_id = "m", .seq_id = 1, .path = "s"});
  auto numbered = sent<SaveWeightsForSamplerRequest>(
      send_save_weights_for_sampler_request({.sampling_session_seq_id = 3}, 1, json_target));
  CHECK(numbered.sampling_session_seq_id == 3);
  CHECK_FALSE(numbered.path.has_value());
  refusal(send_save_weights_for_sampler_request({}, 1, json_target));
  refusal(send_save_weights_for_sampler_request({.path = "s", .sampling_session_seq_id = 3}, 1,
                                                json_target));
}

TEST_CASE("W3: a save to sample from lives as long as it is told", "[actors][operations]") {
  auto save = [](std::chrono::seconds ttl) {
    return send_save_weights_for_sampler_request({.path = "s", .options = {.ttl = ttl}}, 1,
                                                 json_target);
  };
  CHECK(sent<SaveWeightsForSamplerRequest>(save(90s)).ttl_seconds == 90);
  CHECK(has(refusal(save(0s)), "ttl is 0 s"));
}

// --- N: normalize_save_weights_opts --------------------------------------------------------------

TEST_CASE("N1, N2, N5, N6: a save without a name takes the next number", "[actors][operations]") {
  std::int64_t counter = 0;
  CHECK(normalize_save_weights_opts({}, counter).sampling_session_seq_id == 0);
  CHECK(counter == 1);
  CHECK(normalize_save_weights_opts({}, counter).sampling_session_seq_id == 1);
  CHECK(counter == 2);
}

TEST_CASE("N3, N4, N7: a name, be it empty, or a number leaves the counter alone",
          "[actors][operations]") {
  std::int64_t counter = 5;
  CHECK_FALSE(normalize_save_weights_opts({.path = "x"}, counter).sampling_session_seq_id);
  CHECK(normalize_save_weights_opts({.sampling_session_seq_id = 9}, counter).sampling_session_seq_id
        == 9);
  auto empty = normalize_save_weights_opts({.path = ""}, counter);
  CHECK_FALSE(empty.sampling_session_seq_id);
  CHECK(has(refusal(send_save_weights_for_sampler_request(empty, 1, json_target)), "empty"));
  CHECK(counter == 5);
}

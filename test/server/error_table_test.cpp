// SPDX-License-Identifier: Apache-2.0
#include "api/wire/compression.hpp"
#include "server/model/random_model.hpp"
#include "test/server/clock_fixture.hpp"

using namespace tinkaf;
using namespace tinkaf::test;

// Every refusal that clients know, with its status and its whole body.

namespace {

struct Fixture : ClockFixture {
  void expect(const std::string& call, const std::string& body, int status,
              const std::string& detail) {
    INFO(call << " " << body);
    CHECK(refusal(api.post(call, body), status) == detail);
  }

  [[nodiscard]] std::string create(const std::string& more) const {
    return R"({"session_id":")" + session + R"(","model_seq_id":9,)" + more + "}";
  }

  [[nodiscard]] std::string rank(const std::string& value) const {
    return create(R"("base_model":"scripted","lora_config":{"rank":)" + value + "}");
  }

  [[nodiscard]] std::string of_model(const std::string& more) const {
    return R"({"model_id":")" + model + R"(",)" + more + "}";
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "The making of a model is refused in words that name value and limit",
                 "[server][errors]") {
  const std::string call = "create_model";
  expect(call, create(R"("base_model":"","lora_config":{"rank":4})"), 400,
         "base_model is required");
  expect(call, R"({"model_seq_id":0,"base_model":"scripted"})", 400,
         "session_id is required. The version of the Tinker SDK you are using is no longer "
         "supported.");
  expect(call, rank("0"), 400, "lora_config.rank must be positive, but is 0");
  expect(call, rank("-4"), 400, "lora_config.rank must be positive, but is -4");
  expect(call, rank("3"), 400, "lora_config.rank must be a power of 2, but is 3");
  expect(call, rank("512"), 400, "lora_config.rank must be a power of 2 up to 256, but is 512");
  expect(call, rank("1.5"), 400,
         "create_model request: `lora_config.rank` must be an integer of 32 bits, got 1.5");
  expect(call, rank(R"("4")"), 400,
         "create_model request: `lora_config.rank` must be an integer of 32 bits, got a string");
  expect(call,
         create(R"("base_model":"scripted","lora_config":{"rank":4,"train_mlp":false,)"
                R"("train_attn":false,"train_unembed":false})"),
         400, "At least one of train_unembed, train_mlp, or train_attn must be True");
  expect(call, create(R"("base_model":"scripted")"), 400,
         "lora_config: is missing; this server trains LoRA adapters only");
  // Other models do not suffer.
  (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                      api.submit("optim_step", step(model, 1)));
}

TEST_CASE_METHOD(Fixture, "What is not there is told by kind and id", "[server][errors]") {
  expect("session_heartbeat", R"({"session_id":"gone"})", 404,
         "session_id: there is no session `gone`, or it has ended");
  expect("optim_step", step("gone", 1), 404, "model_id: there is no model `gone`");
  expect("get_info", R"({"model_id":"gone"})", 404, "model_id: there is no model `gone`");
  expect("unload_model", R"({"model_id":"gone"})", 404, "model_id: there is no model `gone`");
  expect("asample", sample("gone", 0), 404,
         "sampling_session_id: there is no sampling session `gone`");
  expect("retrieve_future", ApiClient::poll_body("gone"), 404,
         "request_id: no request is called `gone`");
  expect("load_weights",
         of_model(R"("path":"tinker://gone/weights/a","optimizer":true,"seq_id":1)"), 404,
         "path: the checkpoint tinker://gone/weights/a does not exist");
  CHECK(refusal(api.get("training_runs/gone"), 404) == "there is no training run `gone`");
  CHECK(refusal(api.get("samplers/gone"), 404)
        == "sampling_session_id: there is no sampling session `gone`");
}

TEST_CASE_METHOD(Fixture, "Numbers and names that are taken are conflicts", "[server][errors]") {
  (void)api.submit("forward_backward", pass(model, 1, 5));
  const auto reused = api.post("forward_backward", pass(model, 1, 6));
  CHECK(refusal(reused, 409) == "seq_id: 1 was used for another request");
  CHECK(reused.headers.at("x-should-retry") == "false");
  (void)save("a");
  expect("save_weights", of_model(R"("path":"a")"), 409,
         "path: the checkpoint `a` of the model `" + model
             + "` exists already; choose another name, or set `overwrite`");
  expect("save_weights", of_model(R"("path":"a/b")"), 400,
         "path: `a/b` cannot be the name of a checkpoint; a name has 1 to 255 letters, digits, "
         "dots, dashes or underscores");
  expect("save_weights", of_model(R"("path":"..")"), 400,
         "path: `..` cannot be the name of a checkpoint; a name has 1 to 255 letters, digits, "
         "dots, dashes or underscores");
  expect("save_weights", of_model(R"("path":"b","ttl_seconds":0)"), 400,
         "ttl_seconds: must be in [1, 3153600000], but is 0");
  expect("create_model",
         R"({"session_id":")" + session
             + R"(","model_seq_id":0,"base_model":"scripted",)"
               R"("lora_config":{"rank":8}})",
         409, "model_seq_id: 0 was used for another request");
}

TEST_CASE_METHOD(Fixture, "A load behind other operations and a bare name are refused",
                 "[server][errors]") {
  const auto path = save("a");
  expect("load_weights", of_model(R"("path":")" + path + R"(","optimizer":true,"seq_id":3)"), 400,
         "LoadWeights is not permitted with seq_id 3");
  CHECK(refusal(api.remove("training_runs/" + model + "/checkpoints/a"), 400)
        == "Invalid checkpoint identifier. Expected format 'weights/<name>' or "
           "'sampler_weights/<name>', but it is 'a'");
}

TEST_CASE_METHOD(Fixture, "Settings of a step outside their range are told with it",
                 "[server][errors]") {
  const auto params = [&](int number, const std::string& json) {
    return of_model(R"("seq_id":)" + std::to_string(number) + R"(,"adam_params":{)" + json + "}");
  };
  const std::string call = "optim_step";
  expect(call, params(1, R"("learning_rate":-1)"), 400,
         "adam_params.learning_rate is -1, but must be at least 0");
  expect(call, params(2, R"("beta1":1)"), 400, "adam_params.beta1 is 1, but must be in [0, 1)");
  expect(call, params(3, R"("eps":0)"), 400,
         "adam_params.eps is 0, but must be above 0, also in single precision");
  expect(call, params(4, R"("grad_clip_norm":-2)"), 400,
         "adam_params.grad_clip_norm is -2, but must be at least 0");
  // All four numbers are used up.
  (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                      api.submit("optim_step", step(model, 5)));
}

TEST_CASE_METHOD(Fixture, "Too large, too many and not yet have statuses of their own",
                 "[server][errors]") {
  options.limits.max_body = 1000;
  options.limits.max_queued_operations = 1;
  begin();
  const auto large = client().post("forward_backward", std::string(1001, ' '));
  CHECK(large.status == 413);
  CHECK(large.body
        == R"({"detail":"the body is larger than 1000 bytes, which is the most that this server )"
           R"(takes","category":"user"})");
  trainer->hold();
  (void)api.submit("forward_backward", pass(model, 1, 5));
  const auto full = api.post("optim_step", step(model, 2));
  CHECK(refusal(full, 429) == "1 operations of the model `" + model + "` wait already");
  CHECK(full.headers.at("retry-after") == "1");
  trainer->release();
}

TEST_CASE_METHOD(Fixture, "A checkpoint that is being written is told from one that is not there",
                 "[server][errors]") {
  trainer->hold();
  const auto id = api.submit("save_weights", of_model(R"("path":"a","seq_id":1)"));
  const auto path = "tinker://" + model + "/weights/a";
  const auto detail = "path: the checkpoint " + path + " is still being written";
  expect("load_weights",
         R"({"session_id":")" + session + R"(","model_seq_id":1,"optimizer":true,"path":")" + path
             + R"("})",
         425, detail);
  expect("weights_info", R"({"tinker_path":")" + path + R"("})", 425, detail);
  CHECK(refusal(api.get(at("weights/a/archive")), 425) == detail);
  trainer->release();
  (void)api.result<SaveWeightsResponse>(RequestType::save_weights, id);
  (void)check(api.post("weights_info", R"({"tinker_path":")" + path + R"("})"), 200);
}

TEST_CASE_METHOD(Fixture, "A result that is no longer kept is told as gone, with its id",
                 "[server][errors]") {
  options.limits.delivered_bytes = 1; // each result that is fetched takes the place of the last one
  begin();
  const auto first = api.submit("optim_step", step(model, 1));
  const auto second = api.submit("optim_step", step(model, 2));
  (void)api.result<OptimStepResponse>(RequestType::optim_step, first);
  (void)api.result<OptimStepResponse>(RequestType::optim_step, second);
  expect("retrieve_future", ApiClient::poll_body(first), 410,
         "request_id: the result of `" + first + "` is no longer kept");
  (void)api.result<OptimStepResponse>(RequestType::optim_step, second);
}

TEST_CASE_METHOD(Fixture, "Samples beyond those that may wait are held off with their number",
                 "[server][errors]") {
  options.limits.max_queued_samples = 1;
  options.limits.samples_together = 1;
  begin();
  check(
      api.post("create_sampling_session",
               wire::to_json(CreateSamplingSessionRequest{
                   .session_id = session, .sampling_session_seq_id = 0, .base_model = "scripted"})),
      200);
  const auto sampler = session + ":sample:0";
  const auto begun = trainer->log().size();
  trainer->hold();
  (void)api.submit("asample", sample(sampler, 0));
  trainer->wait_for_begun(begun + 1);
  (void)api.submit("asample", sample(sampler, 1));
  const auto full = api.post("asample", sample(sampler, 2));
  CHECK(refusal(full, 429) == "1 samples wait already");
  CHECK(full.headers.at("retry-after") == "1");
}

TEST_CASE_METHOD(Fixture, "A packed body is refused by what is in it", "[server][errors]") {
  options.limits.max_body = 1000;
  begin();
  const auto send = [&](const std::string& body, const std::string& encoding) {
    return client().http.call(
        "POST", "/api/v1/forward_backward", body,
        {{"Content-Type", "application/json"}, {"Content-Encoding", encoding}});
  };
  CHECK(refusal(send(wire::zstd_compress(std::string(1001, ' ')).value(), "zstd"), 413)
        == "the unpacked body is larger than 1000 bytes");
  CHECK(refusal(send("not packed", "gzip"), 415)
        == "the body is not valid gzip: incorrect header check");
  CHECK(refusal(send("{}", "br"), 415)
        == "content encoding `br` is not known; there are zstd, gzip and deflate");
}

TEST_CASE("A sample that does not fit is refused in the words that clients know",
          "[server][errors]") {
  TempFolder folder;
  REQUIRE(model::write_random_model(folder.path() / "model").has_value());
  auto server = Server::start({.state_dir = folder.path() / "state",
                               .models = {{.name = "small", .dir = folder.path() / "model"}},
                               .threads = 1});
  REQUIRE(server.has_value());
  ApiClient api{**server};
  const auto ask = [&](const std::string& prompt, const std::string& params) {
    return ClockFixture::refusal(
        api.post("asample", R"({"base_model":"small","prompt":{"chunks":[{"type":"encoded_text",)"
                            R"("tokens":[)"
                                + prompt + R"(]}]},"sampling_params":{)" + params + "}}"),
        400);
  };
  CHECK(ask("1,2", R"("max_tokens":127)")
        == "Prompt length plus max_tokens exceeds the model's context window: 2 + 127 > 128");
  CHECK(ask("999", R"("max_tokens":1)")
        == "prompt: token 999 at position 0 is outside the vocabulary of 259");
  CHECK(ask("", R"("max_tokens":1)") == "prompt is empty, but must have at least one token");
  CHECK(ask("1", R"("max_tokens":0)").find("max_tokens") != std::string::npos);
  CHECK(ask("1", R"("top_p":0)").find("top_p") != std::string::npos);
  CHECK(ask("1", R"("stop":["a",1])").find("stop[1]") != std::string::npos);
}

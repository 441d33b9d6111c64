// SPDX-License-Identifier: Apache-2.0
#include "api/wire/compression.hpp"
#include "api/wire/protobuf.hpp"
#include "test/server/server_fixture.hpp"

#include <limits>
#include <random>

using namespace tinkaf;
using namespace tinkaf::test;

namespace {

struct Fixture : ServerFixture {
  void check_refused(const std::string& call, const std::string& body, int status,
                     const std::string& part) {
    const auto answer = api.post(call, body);
    INFO(call << " " << body << ": " << answer.body);
    CHECK(answer.status == status);
    CHECK(answer.body.find(part) != std::string::npos);
    CHECK(answer.body.find(R"("category":"user")") != std::string::npos);
  }

  ApiClient api = client();
};

} // namespace

TEST_CASE_METHOD(Fixture, "Unknown calls and wrong methods are told", "[server][errors]") {
  const auto unknown = api.http.call("GET", "/api/v1/nothing");
  CHECK(unknown.status == 404);
  CHECK(unknown.body.find("GET /api/v1/nothing") != std::string::npos);
  CHECK(client().http.call("GET", "/").status == 404);
  const auto wrong = client().http.call("GET", "/api/v1/create_model");
  CHECK(wrong.status == 405);
  CHECK(wrong.headers.at("allow") == "POST");
  CHECK(client()
            .http.call("POST", "/api/v1/create_session", "{}", {{"Content-Type", "text/plain"}})
            .status
        == 415);
}

TEST_CASE_METHOD(Fixture, "The key is checked where one is set", "[server][errors]") {
  options.api_key = "tml-right";
  restart();
  const auto ask = [&](const std::map<std::string, std::string>& headers) {
    return client().http.call("GET", "/api/v1/get_server_capabilities", {}, headers);
  };
  const auto missing = ask({});
  CHECK(missing.status == 401);
  CHECK(missing.headers.at("www-authenticate") == "Bearer");
  CHECK(missing.body == R"({"category":"user","detail":"the header X-API-Key is missing"})");
  const auto wrong = ask({{"X-API-Key", "tml-wrong"}});
  CHECK(wrong.status == 403);
  CHECK(wrong.body == R"({"category":"user","detail":"the key is not that of this server"})");
  CHECK(ask({{"X-API-Key", "tml-rightandmore"}}).status == 403);
  CHECK(ask({{"X-API-Key", "tml-right"}}).status == 200);
  CHECK(client().http.call("GET", "/api/v1/healthz").status == 200);
}

TEST_CASE_METHOD(Fixture, "Calls without a model answer as clients expect", "[server]") {
  const auto config
      = wire::from_json<ClientConfig>(api.post("client/config", R"({"sdk_version":"1"})").body);
  REQUIRE(config.has_value());
  CHECK(config->parallel_fwdbwd_chunks);
  CHECK(api.post("client/dynamic_config", R"({"sdk_version":"1"})").body
        == R"({"refresh_interval_sec":300})");
  CHECK(api.post("telemetry", "{}").body == R"({"status":"accepted"})");
  CHECK(api.http.call("GET", "/api/v1/get_server_capabilities")
            .body.starts_with(
                R"({"supported_models":[{"model_name":"scripted","max_context_length":64}],)"));
  const auto session = api.session();
  CHECK(api.post("session_heartbeat", wire::to_json(SessionHeartbeatRequest{session})).body
        == R"({"type":"session_heartbeat"})");
}

TEST_CASE_METHOD(Fixture, "A bad field is told by name and value", "[server][errors]") {
  const auto session = api.session();
  const auto model = api.model(session);
  const auto create = [&](const std::string& more) {
    return R"({"session_id":")" + session + R"(","model_seq_id":9,)" + more + "}";
  };
  check_refused("create_model", create(R"("base_model":"","lora_config":{"rank":4})"), 400,
                "base_model is required");
  check_refused("create_model", create(R"("base_model":"gpt","lora_config":{"rank":4})"), 400,
                "`gpt` is not served here; there is: scripted");
  check_refused("create_model", create(R"("base_model":"scripted")"), 400, "lora_config");
  const auto rank = [&](const std::string& value) {
    return create(R"("base_model":"scripted","lora_config":{"rank":)" + value + "}");
  };
  check_refused("create_model", rank("0"), 400, "lora_config.rank must be positive");
  check_refused("create_model", rank("3"), 400, "lora_config.rank must be a power of 2");
  check_refused("create_model", rank("1024"), 400, "up to 256, but is 1024");
  check_refused("create_model", rank("1.5"), 400, "lora_config.rank");
  check_refused("create_model", rank(R"("four")"), 400, "lora_config.rank");
  check_refused("create_model",
                create(R"("base_model":"scripted","lora_config":{"rank":4,"train_mlp":false,)"
                       R"("train_attn":false,"train_unembed":false})"),
                400, "At least one of");
  check_refused("create_model",
                R"({"session_id":"gone","model_seq_id":0,"base_model":"scripted",)"
                R"("lora_config":{"rank":4}})",
                404, "`gone`");
  check_refused("create_model", R"({"model_seq_id":0})", 400, "session_id");
  check_refused("session_heartbeat", R"({"session_id":"gone"})", 404, "`gone`");

  check_refused("optim_step", step("nobody", 1), 404, "`nobody`");
  check_refused("optim_step", step(model, 0), 400, "seq_id: must be at least 1, but is 0");
  check_refused("optim_step", step(model, std::numeric_limits<std::int64_t>::max()), 400,
                "seq_id: must be at most 9007199254740991, but is 9223372036854775807");
  check_refused("optim_step",
                R"({"model_id":")" + model + R"(","seq_id":1,"adam_params":{"beta1":1.5}})", 400,
                "beta1");
  check_refused("forward_backward", pass(model, 2, 1000), 400,
                "data[0].model_input: token 1000 is not in [0, 999]");
  const auto input = [&](int seq_id, const std::string& more) {
    return R"({"model_id":")" + model + R"(","seq_id":)" + std::to_string(seq_id)
           + R"(,"forward_backward_input":{)" + more + "}}";
  };
  check_refused("forward_backward", input(3, R"("data":[],"loss_fn":"cross_entropy")"), 400,
                "data: must hold at least one datum");
  check_refused("forward_backward", input(4, R"("data":[],"loss_fn":"mse")"), 400, "mse");
  check_refused("forward", input(5, R"("data":[],"loss_fn":"ppo")"), 400, "forward_input");
  check_refused("forward_backward", "{", 400, "forward_backward request");
  check_refused("forward_backward", std::string(200'000, '['), 400, "forward_backward request");
  // All of these numbers are used up, so the next one runs at once.
  (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                      api.submit("optim_step", step(model, 6)));
}

TEST_CASE_METHOD(Fixture, "Packed bodies are unpacked within limits", "[server][errors]") {
  options.limits.max_body = 100'000;
  restart();
  api = client();
  const auto model = api.model(api.session());
  const auto send = [&](const std::string& body, const std::string& encoding) {
    return client().http.call(
        "POST", "/api/v1/forward_backward", body,
        {{"Content-Type", "application/x-protobuf"}, {"Content-Encoding", encoding}});
  };
  const ForwardBackwardRequest request{
      .model_id = model, .seq_id = 1, .data = BatchSlice::whole(make_batch({datum(5)}))};
  const auto bytes = wire::to_protobuf(request).value();
  const auto first = send(wire::zstd_compress(bytes).value(), "zstd");
  CHECK(first.status == 200);
  CHECK(send(wire::gzip_compress(bytes).value(), "gzip").body == first.body);
  CHECK(api.submit("forward_backward", pass(model, 1, 5))
        == wire::from_json<FutureRef>(first.body).value().request_id); // JSON, the same payload
  const std::string bomb(100'001, '\0');
  CHECK(send(wire::zstd_compress(bomb).value(), "zstd").status == 413);
  CHECK(send(wire::gzip_compress(bomb).value(), "gzip").status == 413);
  CHECK(send("not packed", "zstd").status == 415);
  CHECK(send(bytes, "br").status == 415);
}

TEST_CASE_METHOD(Fixture, "Damaged bodies harm nobody", "[server][errors]") {
  const auto session = api.session();
  const auto model = api.model(session);
  CreateModelRequest create{.session_id = session, .model_seq_id = 1, .base_model = "scripted"};
  create.lora_config = LoraConfig{};
  const std::vector<std::pair<std::string, std::string>> good{
      {"create_session", wire::to_json(CreateSessionRequest{})},
      {"create_model", wire::to_json(create)},
      {"forward_backward", pass(model, 1, 5)},
      {"optim_step", step(model, 2)},
      {"save_weights", wire::to_json(SaveWeightsRequest{.model_id = model, .path = "a"})},
      {"load_weights", wire::to_json(LoadWeightsRequest{.model_id = model, .path = "x"})},
      {"asample", sample(session + ":sample:0", 0)},
      {"retrieve_future", ApiClient::poll_body("x")},
      {"weights_info", R"({"tinker_path":"tinker://a/weights/b"})"}};
  std::mt19937 random{7}; // NOLINT: the same damage every time
  for (int round = 0; round < 300; ++round) {
    auto [call, body] = good[random() % good.size()];
    for (auto changes = random() % 4 + 1; changes > 0; --changes)
      switch (random() % 3) {
      case 0:
        body[random() % body.size()] = static_cast<char>(random());
        break;
      case 1:
        body.erase(random() % body.size(), 1 + random() % 5);
        body += 'x';
        break;
      default:
        body.insert(random() % body.size(), std::string(1, "{}[]\",:0-9e"[random() % 11]));
      }
    const auto answer = api.post(call, body);
    INFO(call << " " << body << ": " << answer.body);
    CHECK(answer.status >= 200);
    CHECK(answer.status < 500);
  }
  CHECK(api.http.call("GET", "/api/v1/healthz").status == 200);
}

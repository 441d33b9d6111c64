// SPDX-License-Identifier: Apache-2.0
#include "server/model/random_model.hpp"
#include "server/model/safetensors.hpp"
#include "test/server/server_fixture.hpp"
#include "test/server/tar_writer.hpp"

#include <cmath>

using namespace tinkaf;
using namespace tinkaf::test;

// Adapters that no training here has made.

namespace {

struct Fixture {
  Fixture() {
    REQUIRE(model::write_random_model(folder.path() / "model").has_value());
    auto started = Server::start({.state_dir = folder.path() / "state",
                                  .models = {{.name = "small", .dir = folder.path() / "model"}},
                                  .threads = 1});
    REQUIRE(started.has_value());
    server = std::move(*started);
    api.emplace(*server);
    session = api->session();
  }

  static std::vector<float> logprobs_of(ApiClient& client, const std::string& model) {
    ForwardBackwardRequest request{
        .model_id = model,
        .data = BatchSlice::whole(make_batch(
            {{.model_input = ModelInput::from_ints({10, 20, 30}),
              .loss_fn_inputs
              = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{20, 30, 40})}}}})),
        .forward_only = true};
    const auto id = client.submit("forward", wire::to_json(request).value());
    return *client.result<ForwardBackwardOutput>(RequestType::forward, id)
                .loss_fn_outputs.at(0)
                .at("logprobs")
                .floats();
  }

  /// Logprobs of a model that goes on from a checkpoint.
  std::vector<float> logprobs_at(const std::string& path) {
    LoadWeightsRequest request{.path = path, .optimizer = false};
    request.session_id = session;
    request.model_seq_id = number++;
    const auto id = api->submit("load_weights", wire::to_json(request));
    const auto model = api->result<LoadWeightsResponse>(RequestType::load_weights, id).model_id;
    return logprobs_of(*api, model);
  }

  /// The body of an answer, and its field "path" if it succeeded.
  HttpAnswer send(const std::string& tar, const std::string& query) {
    return api->http.call("POST", "/api/v1/import_checkpoint?" + query, tar,
                          {{"Content-Type", "application/x-tar"}});
  }

  static std::string path_in(const HttpAnswer& answer) {
    INFO(answer.body);
    REQUIRE(answer.status == 200);
    const std::string before = R"({"path":")";
    REQUIRE(answer.body.starts_with(before));
    return answer.body.substr(before.size(), answer.body.find('"', before.size()) - before.size());
  }

  /// An adapter of rank 3 on one matrix, as PEFT writes it.
  std::string foreign(double alpha, float factor, const std::string& more = {}) const {
    std::vector<float> a(3 * 32);
    std::vector<float> b(32 * 3);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = 0.01F * static_cast<float>(i % 13);
      b[i] = factor * 0.02F * static_cast<float>(i % 7);
    }
    const std::string name = "base_model.model.model.layers.1.self_attn.q_proj.lora_";
    const std::vector<model::TensorSource> tensors{{name + "A.weight", {3, 32}, a},
                                                   {name + "B.weight", {32, 3}, b}};
    const auto file = folder.path() / "foreign.safetensors";
    REQUIRE(model::write_safetensors(file, tensors, model::StoredType::f32, {}).has_value());
    return tar_of({{"README.md", "x"},
                   {"adapter_config.json",
                    R"({"peft_type":"LORA","r":3,"lora_alpha":)" + std::to_string(alpha)
                        + R"(,"target_modules":["q_proj"],"bias":"none")" + more + "}"},
                   {"adapter_model.safetensors", read_text(file)}});
  }

  HttpAnswer merge(const std::string& sources) {
    return api->post("merge_checkpoints", R"({"name":"sum","sources":[)" + sources + "]}");
  }

  TempFolder folder;
  std::unique_ptr<Server> server;
  std::optional<ApiClient> api;
  std::string session;
  std::int64_t number = 10;
};

void check_close(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK(std::abs(a[i] - b[i]) < 1e-4F);
}

std::string source(const std::string& path, const std::string& weight) {
  return R"({"path":")" + path + R"(","weight":)" + weight + "}";
}

} // namespace

TEST_CASE_METHOD(Fixture, "An adapter from elsewhere is a checkpoint to train on",
                 "[server][adapters]") {
  const auto base = logprobs_of(*api, api->model(session, 0, "small"));
  const auto path = path_in(send(foreign(6, 1), "base_model=small&name=mine"));
  CHECK(path.ends_with("/weights/mine"));
  const auto imported = logprobs_at(path);
  CHECK(imported != base);
  // Alpha is folded in: half of it with twice the matrix is the same.
  check_close(logprobs_at(path_in(send(foreign(3, 2), "base_model=small"))), imported);
  const auto info = api->post("weights_info", R"({"tinker_path":")" + path + R"("})");
  CHECK(info.body.find(R"("lora_rank":4)") != std::string::npos);
  CHECK(info.body.find(R"("train_mlp":false)") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "Adapters of one base are summed up by weight", "[server][adapters]") {
  const auto base = logprobs_of(*api, api->model(session, 0, "small"));
  const auto one = path_in(send(foreign(6, 1), "base_model=small"));
  const auto two = path_in(send(foreign(6, 2), "base_model=small"));
  check_close(logprobs_at(path_in(merge(source(one, "1")))), logprobs_at(one));
  check_close(logprobs_at(path_in(merge(source(one, "2")))), logprobs_at(two));
  check_close(logprobs_at(path_in(merge(source(one, "0.5") + "," + source(two, "0.25")))),
              logprobs_at(one));
  check_close(logprobs_at(path_in(merge(source(one, "2") + "," + source(two, "-1")))), base);
}

TEST_CASE_METHOD(Fixture, "What cannot be taken in or summed up is refused with the reason",
                 "[server][adapters][errors]") {
  const auto refused = [](const HttpAnswer& answer, int status, const std::string& part) {
    INFO(answer.body);
    CHECK(answer.status == status);
    CHECK(answer.body.find(part) != std::string::npos);
  };
  const auto tar = foreign(6, 1);
  refused(send(tar, "base_model=gpt"), 400, "`gpt` is not served here; there is: small");
  refused(send(tar, "base_model=small&name=..%2Fx"), 400, "cannot be the name of a checkpoint");
  refused(send("no tar at all", "base_model=small"), 400, "no usable tar");
  refused(send(tar_of({{"adapter_config.json", "{}"}}), "base_model=small"), 400,
          "it holds no adapter_model.safetensors");
  refused(send(tar_of({{"a/adapter_config.json", "{}"}, {"adapter_model.safetensors", "x"}}),
               "base_model=small"),
          400, "peft_type");
  for (const std::string out : {"../adapter_config.json", "/adapter_config.json", "a/../../x"})
    refused(send(tar_of({{out, "{}"}}), "base_model=small"), 400,
            "no usable tar: its entry " + out + " leads out of it");
  refused(send(tar_of({{"adapter_config.json", ""}}, '2'), "base_model=small"), 400,
          "no usable tar: its entry adapter_config.json is neither a file nor a folder");
  refused(send(foreign(6, 1, R"(,"use_dora":true)"), "base_model=small"), 400, "use_dora");
  refused(send(foreign(6, 1, R"(,"rank_pattern":{"a":1})"), "base_model=small"), 400,
          "rank_pattern");
  refused(merge(""), 400, "sources: must be 1 to 64 checkpoints, but are 0");
  refused(merge(source("tinker://a/weights/b", "1")), 404, "tinker://a/weights/b");
  refused(merge(source("nonsense", "1")), 400, "sources[0].path");
}

TEST_CASE_METHOD(Fixture, "Tensors that are cut off or forged are refused with file and reason",
                 "[server][adapters][errors]") {
  (void)foreign(6, 1);
  const auto good = read_text(folder.path() / "foreign.safetensors");
  const auto refusal = [&](const std::string& tensors) {
    const auto answer = send(tar_of({{"adapter_config.json", R"({"peft_type":"LORA","r":3})"},
                                     {"adapter_model.safetensors", tensors}}),
                             "base_model=small");
    const std::string before = R"({"category":"user","detail":"adapter_model.safetensors: )";
    INFO(answer.body);
    CHECK(answer.status == 400);
    REQUIRE(answer.body.starts_with(before));
    return answer.body.substr(before.size(), answer.body.size() - before.size() - 2);
  };
  const auto of_tensor = [](const std::string& part, const std::string& reason) {
    return R"(tensor \"base_model.model.model.layers.1.self_attn.q_proj.lora_)" + part
           + R"(.weight\": data_offsets )" + reason;
  };
  const auto forged = [&](const std::string& from, const std::string& to) {
    auto bytes = good;
    REQUIRE(from.size() == to.size());
    const auto at = bytes.find(from);
    REQUIRE(at != std::string::npos);
    return bytes.replace(at, from.size(), to);
  };
  (void)path_in(send(tar_of({{"adapter_config.json", R"({"peft_type":"LORA","r":3})"},
                             {"adapter_model.safetensors", good}}),
                     "base_model=small"));
  CHECK(refusal(good.substr(0, good.size() - 1))
        == of_tensor("B", "[384, 768] are not inside the 767 bytes of data"));
  CHECK(refusal(good.substr(0, 5)) == "is too short for a safetensors file");
  CHECK(refusal(std::string(8, '\xff') + good.substr(8))
        == "header length 18446744073709551615 is larger than the file");
  CHECK(refusal(forged("[3,32]", "[9,32]"))
        == of_tensor("A", "[0, 384] do not fit shape and dtype"));
  CHECK(refusal(forged("[0,384]", "[0,999]"))
        == of_tensor("A", "[0, 999] are not inside the 768 bytes of data"));
  CHECK(refusal(forged("[384,768]", "[380,768]"))
        == of_tensor("B", "[380, 768] do not fit shape and dtype"));
}

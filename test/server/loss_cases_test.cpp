// SPDX-License-Identifier: Apache-2.0
#include "api/wire/protobuf.hpp"
#include "server/model/safetensors.hpp"
#include "test/model/numeric_cases.hpp"
#include "test/server/server_fixture.hpp"
#include "test/server/tar_reader.hpp"
#include "test/server/written_model.hpp"

#include <cmath>
#include <map>

using namespace tinkaf;
using namespace tinkaf::test;
using model::nearly;
using model::numbers;

// The numeric cases through the whole server, by a model whose logits are those of the cases.

namespace {

using Json = rapidjson::Value;

constexpr std::size_t rank = 8;
constexpr std::size_t width = WrittenModel::width;
constexpr std::size_t vocab = WrittenModel::vocab;
constexpr Token rest_token = 258;

/// What one position gets: the derivative of the loss by its logits.
struct Pull {
  Token behind = 0;
  Logits by_logit;
};

struct Fixture {
  void begin() {
    written.write(folder.path() / "model");
    auto started = Server::start({.state_dir = folder.path() / "state",
                                  .models = {{.name = "written", .dir = folder.path() / "model"}},
                                  .threads = 1});
    REQUIRE(started.has_value());
    server = std::move(*started);
    api.emplace(*server);
    session = api->session();
  }

  /// A fresh adapter of the head alone: it changes nothing before its first step.
  std::string fresh_model() {
    CreateModelRequest request{
        .session_id = session, .model_seq_id = models++, .base_model = "written"};
    request.lora_config = LoraConfig{.rank = static_cast<std::int32_t>(rank), .seed = 5};
    request.lora_config->train_attn = false;
    request.lora_config->train_mlp = false;
    const auto id = api->submit("create_model", wire::to_json(request));
    return api->result<CreateModelResponse>(RequestType::create_model, id).model_id;
  }

  /// Targets whose log-probabilities the model is to have, with what is left on a token of its own.
  Token position(const std::vector<std::int64_t>& targets, const std::vector<double>& logprobs) {
    Logits logits;
    for (std::size_t k = 0; k < targets.size(); ++k)
      logits[static_cast<std::size_t>(targets[k])] = logprobs[k];
    double rest = 1.0;
    for (const auto& [_, x] : logits)
      rest -= std::exp(x);
    REQUIRE(rest > 0.0);
    logits[rest_token] = std::log(rest);
    return written.add(logits);
  }

  /// The positions of a datum as the model's input, by which it has these log-probabilities.
  void place(Datum& datum, const std::vector<double>& logprobs) {
    const auto& targets = *datum.loss_fn_inputs.at("target_tokens").ints();
    const auto count
        = static_cast<std::size_t>(datum.loss_fn_inputs.at("target_tokens").shape->at(0));
    const auto wide = targets.size() / count;
    std::vector<Token> input;
    for (std::size_t i = 0; i < targets.size(); i += wide)
      input.push_back(position({targets.begin() + static_cast<std::ptrdiff_t>(i),
                                targets.begin() + static_cast<std::ptrdiff_t>(i + wide)},
                               {logprobs.begin() + static_cast<std::ptrdiff_t>(i),
                                logprobs.begin() + static_cast<std::ptrdiff_t>(i + wide)}));
    datum.model_input = ModelInput::from_ints(input);
  }

  /// What derivatives by log-probabilities mean for the logits of each position.
  [[nodiscard]] std::vector<Pull> pulls(const Datum& datum,
                                        const std::vector<double>& by_logprob) const {
    const auto& targets = *datum.loss_fn_inputs.at("target_tokens").ints();
    const auto input = to_ints(datum.model_input).value();
    const auto wide = targets.size() / input.size();
    std::vector<Pull> out;
    for (std::size_t i = 0; i < input.size(); ++i) {
      auto& pull = out.emplace_back(Pull{input[i], {}});
      const auto& logits = written.behind(input[i]);
      for (std::size_t k = i * wide; k < (i + 1) * wide; ++k) {
        pull.by_logit[static_cast<std::size_t>(targets[k])] += by_logprob[k];
        for (const auto& [token, _] : logits)
          pull.by_logit[token] -= by_logprob[k] * std::exp(logprob_in(logits, token));
      }
    }
    return out;
  }

  ForwardBackwardOutput pass(const ForwardBackwardRequest& request, bool binary) {
    const std::string call = "forward_backward";
    if (!binary)
      return api->result<ForwardBackwardOutput>(RequestType::forward_backward,
                                                api->submit(call, wire::to_json(request).value()));
    const auto answer
        = api->http.call("POST", "/api/v1/" + call, wire::to_protobuf(request).value(),
                         {{"Content-Type", "application/x-protobuf"}});
    REQUIRE(answer.status == 200);
    return api->result<ForwardBackwardOutput>(
        RequestType::forward_backward, wire::from_json<FutureRef>(answer.body).value().request_id);
  }

  /// A tensor of the adapter as it is now, from the archive of a checkpoint.
  std::vector<float> download(const std::string& model_id, const std::string& tensor,
                              const std::vector<std::size_t>& shape) {
    const auto answer
        = api->get("training_runs/" + model_id + "/checkpoints/sampler_weights/end/archive");
    REQUIRE(answer.status == 302);
    const auto& link = answer.headers.at("location");
    const auto tar = api->http.call("GET", link.substr(link.find("/api/")));
    REQUIRE(tar.status == 200);
    const auto file = folder.path() / "adapter.safetensors";
    std::ofstream{file, std::ios::binary} << read_tar(tar.body).at("adapter_model.safetensors");
    const auto reader = model::SafetensorsReader::open(file).value();
    std::vector<float> out(shape[0] * shape[1]);
    REQUIRE(reader.read("base_model.model.model.unembed_tokens." + tensor, shape, out).has_value());
    return out;
  }

  /// A step so that B, which was zero, becomes the negative gradient; holds it against the pulls.
  void check_gradient(const std::string& model_id, const std::vector<Pull>& expected) {
    const auto huge = 1e8; // makes AdamW a plain descent: huge * g / (|g| + huge)
    (void)api->result<OptimStepResponse>(
        RequestType::optim_step,
        api->submit(
            "optim_step",
            wire::to_json(OptimStepRequest{.model_id = model_id,
                                           .adam_params = {.learning_rate = huge, .eps = huge}})
                .value()));
    const auto id = api->submit(
        "save_weights_for_sampler",
        wire::to_json(SaveWeightsForSamplerRequest{.model_id = model_id, .path = "end"}));
    (void)api->result<SaveWeightsForSamplerResponse>(RequestType::save_weights_for_sampler, id);
    const auto a = download(model_id, "lora_A.weight", {rank, width});
    const auto b = download(model_id, "lora_B.weight", {vocab, rank});
    std::vector<double> gradient(b.size());
    for (const auto& pull : expected)
      for (const auto& [token, x] : pull.by_logit)
        for (std::size_t r = 0; r < rank; ++r)
          gradient[token * rank + r]
              += 32.0 / rank * x
                 * static_cast<double>(a[r * width + static_cast<std::size_t>(pull.behind)]);
    for (std::size_t i = 0; i < b.size(); ++i)
      CHECK(-b[i] == nearly(gradient[i]));
  }

  void check_logprobs(const ForwardBackwardOutput& output, std::size_t datum,
                      const std::vector<double>& expected) {
    const auto& got = *output.loss_fn_outputs.at(datum).at("logprobs").floats();
    REQUIRE(got.size() == expected.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      CHECK(got[i] == nearly(expected[i]));
  }

  TempFolder folder;
  WrittenModel written;
  std::unique_ptr<Server> server;
  std::optional<ApiClient> api;
  std::string session;
  std::int64_t models = 0;
};

ForwardBackwardRequest request_of(const std::string& model_id, std::vector<Datum> data,
                                  LossFn loss_fn, std::optional<LossFnConfig> config) {
  return {.model_id = model_id,
          .seq_id = 1,
          .data = BatchSlice::whole(make_batch(std::move(data))),
          .loss_fn = loss_fn,
          .loss_fn_config = std::move(config)};
}

} // namespace

TEST_CASE_METHOD(Fixture, "Every loss case gives its loss, log-probabilities and gradient",
                 "[server][losses]") {
  const auto& cases = model::numeric_cases()["loss_cases"];
  std::vector<std::vector<Datum>> dense;
  std::vector<std::vector<Datum>> sparse;
  for (const auto& x : cases.GetArray()) {
    auto& data = dense.emplace_back();
    auto& other = sparse.emplace_back();
    for (const auto& datum : x["datums"].GetArray()) {
      data.push_back(model::datum_of_case(datum["loss_fn_inputs"]));
      place(data.back(), numbers<double>(datum["model_logprobs"]));
      other.push_back(data.back());
      if (datum.HasMember("loss_fn_inputs_csr_equivalent"))
        for (const auto& entry : datum["loss_fn_inputs_csr_equivalent"].GetObject())
          other.back().loss_fn_inputs[entry.name.GetString()] = model::tensor_of(entry.value);
    }
  }
  begin();
  for (rapidjson::SizeType i = 0; i < cases.Size(); ++i) {
    const auto& x = cases[i];
    for (const bool binary : {false, true})
      for (const auto* data : {&dense[i], &sparse[i]}) {
        if (data == &sparse[i] && dense[i] == sparse[i])
          continue;
        INFO(x["id"].GetString() << (binary ? ", binary" : ", JSON"));
        const auto model_id = fresh_model();
        const auto output
            = pass(request_of(model_id, *data, parse_loss_fn(x["loss_fn"].GetString()).value(),
                              model::config_of(x["loss_fn_config"])),
                   binary);
        CHECK(output.metrics.at("loss:sum")
              == nearly(x["expected"]["metrics"]["loss:sum"].GetDouble()));
        std::vector<Pull> expected;
        for (std::size_t d = 0; d < data->size(); ++d) {
          const auto& datum = x["datums"][static_cast<rapidjson::SizeType>(d)];
          check_logprobs(output, d, numbers<double>(datum["expected"]["logprobs_output"]["data"]));
          const auto more = pulls((*data)[d], numbers<double>(datum["expected"]["dloss_dlogprob"]));
          expected.insert(expected.end(), more.begin(), more.end());
        }
        check_gradient(model_id, expected);
      }
  }
}

TEST_CASE_METHOD(Fixture, "Every case of logits gives its gradient", "[server][losses]") {
  const auto& cases = model::numeric_cases()["logits_cases"];
  std::vector<Datum> data;
  for (const auto& x : cases.GetArray()) {
    auto& datum = data.emplace_back();
    std::vector<Token> input;
    for (const auto& row : x["logits"].GetArray()) {
      Logits logits;
      for (rapidjson::SizeType v = 0; v < row.Size(); ++v)
        logits[v] = row[v].GetDouble();
      input.push_back(written.add(logits));
    }
    datum.model_input = ModelInput::from_ints(input);
    for (const auto& entry : x["loss_fn_inputs"].GetObject()) {
      const std::string name = entry.name.GetString();
      datum.loss_fn_inputs[name] = name == "target_tokens"
                                       ? TensorData::of(numbers<std::int64_t>(entry.value))
                                       : TensorData::of(numbers<float>(entry.value));
    }
  }
  begin();
  for (rapidjson::SizeType i = 0; i < cases.Size(); ++i) {
    const auto& x = cases[i];
    INFO(x["id"].GetString());
    const auto model_id = fresh_model();
    const auto output
        = pass(request_of(model_id, {data[i]}, parse_loss_fn(x["loss_fn"].GetString()).value(),
                          model::config_of(x["loss_fn_config"])),
               false);
    CHECK(output.metrics.at("loss:sum") == nearly(x["expected"]["loss:sum"].GetDouble()));
    check_logprobs(output, 0, numbers<double>(x["expected"]["logprobs"]));
    std::vector<Pull> expected;
    const auto input = to_ints(data[i].model_input).value();
    for (std::size_t p = 0; p < input.size(); ++p) {
      auto& pull = expected.emplace_back(Pull{input[p], {}});
      const auto row
          = numbers<double>(x["expected"]["dloss_dlogits"][static_cast<rapidjson::SizeType>(p)]);
      for (std::size_t v = 0; v < row.size(); ++v)
        pull.by_logit[v] = row[v];
    }
    check_gradient(model_id, expected);
  }
}

TEST_CASE_METHOD(Fixture, "Every loss of the caller's own gives its gradient through the weights",
                 "[server][losses]") {
  const auto& cases = model::numeric_cases()["custom_cases"];
  std::vector<std::vector<Datum>> data;
  for (const auto& x : cases.GetArray()) {
    auto& batch = data.emplace_back();
    for (const auto& row : x["model_logprobs"].GetArray()) {
      std::vector<std::int64_t> targets;
      for (rapidjson::SizeType i = 0; i < row.Size(); ++i)
        targets.push_back(40 + i);
      auto& datum = batch.emplace_back();
      datum.loss_fn_inputs["target_tokens"] = TensorData::of(targets);
      datum.loss_fn_inputs["target_tokens"].shape = {row.Size()};
      datum.loss_fn_inputs["weights"] = TensorData::of(std::vector<float>(row.Size()));
      place(datum, numbers<double>(row));
    }
  }
  begin();
  for (rapidjson::SizeType i = 0; i < cases.Size(); ++i) {
    const auto& x = cases[i];
    INFO(x["id"].GetString());
    const auto model_id = fresh_model();
    auto request = request_of(model_id, data[i], LossFn::cross_entropy, {});
    request.forward_only = true;
    const auto looked = pass(request, true);
    std::vector<Pull> expected;
    for (rapidjson::SizeType d = 0; d < data[i].size(); ++d) {
      check_logprobs(looked, d, numbers<double>(x["model_logprobs"][d]));
      data[i][d].loss_fn_inputs["weights"]
          = TensorData::of(numbers<float>(x["expected"]["weights_sent"][d]));
      const auto more = pulls(data[i][d], numbers<double>(x["expected"]["dloss_dlogprob"][d]));
      expected.insert(expected.end(), more.begin(), more.end());
    }
    request = request_of(model_id, data[i], LossFn::cross_entropy, {});
    request.seq_id = 2;
    CHECK(pass(request, true).metrics.at("loss:sum")
          == nearly(x["expected"]["server_loss:sum"].GetDouble()));
    check_gradient(model_id, expected);
  }
}

TEST_CASE_METHOD(Fixture, "Every sampling case draws its tokens and tells their log-probabilities",
                 "[server][sampling]") {
  const auto& cases = model::numeric_cases()["sampling_cases"];
  std::vector<Token> prompts;
  for (const auto& x : cases.GetArray()) {
    Logits logits;
    for (rapidjson::SizeType v = 0; v < x["logits"].Size(); ++v)
      logits[v] = x["logits"][v].GetDouble();
    prompts.push_back(written.add(logits));
  }
  begin();
  std::int64_t number = 0;
  for (rapidjson::SizeType i = 0; i < cases.Size(); ++i) {
    const auto& x = cases[i];
    INFO(x["id"].GetString());
    const auto temperature = x["temperature"].GetDouble();
    const auto probabilities = numbers<double>(x["expected"]["probabilities"]);
    const auto logprobs
        = numbers<double>(x["expected"][temperature == 0.0 ? "logprobs_temperature_1"
                                                           : "logprobs_tempered_unfiltered"]);
    AsampleRequest request{.base_model = "written"};
    request.sample = {.prompt = ModelInput::from_ints({prompts[i]}),
                      .num_samples = 400,
                      .sampling_params = {.max_tokens = 1, .seed = 3 + number++}};
    request.sample.sampling_params.temperature = temperature;
    request.sample.sampling_params.top_k = x["top_k"].GetInt();
    request.sample.sampling_params.top_p = x["top_p"].GetDouble();
    const auto id = api->submit("asample", wire::to_json(request).value());
    std::map<Token, int> drawn;
    for (const auto& sequence : api->result<SampleResponse>(RequestType::sample, id).sequences) {
      const auto token = sequence.tokens.at(0);
      ++drawn[token];
      REQUIRE(static_cast<std::size_t>(token) < logprobs.size());
      CHECK(sequence.logprobs->at(0) == nearly(logprobs[static_cast<std::size_t>(token)]));
    }
    // Of 400 draws by a fixed seed; five deviations leave room for every other seed too.
    for (std::size_t v = 0; v < probabilities.size(); ++v) {
      const auto p = probabilities[v];
      CHECK(std::abs(drawn[static_cast<Token>(v)] - 400.0 * p)
            <= 5.0 * std::sqrt(400.0 * p * (1.0 - p)));
    }
  }
}

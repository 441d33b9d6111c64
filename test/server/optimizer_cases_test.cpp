// SPDX-License-Identifier: Apache-2.0
#include "server/model/safetensors.hpp"
#include "test/model/numeric_cases.hpp"
#include "test/server/server_fixture.hpp"
#include "test/server/tar_reader.hpp"
#include "test/server/tar_writer.hpp"
#include "test/server/written_model.hpp"

#include <cmath>

using namespace tinkaf;
using namespace tinkaf::test;
using model::nearly;
using model::numbers;

// The numeric cases of the optimizer through the whole server. Their parameters are those that the
// head's adapter, of rank 1, has for the first tokens; their gradients come from the weights of
// targets.

namespace {

constexpr std::size_t width = WrittenModel::width;
constexpr std::size_t vocab = WrittenModel::vocab;

/// A target whose weight takes back those of the others, so that probabilities have no share in the
/// gradient.
constexpr std::size_t balance = 100;

constexpr float scale = 32.0F; // alpha over rank
constexpr const char* linear = "base_model.model.model.unembed_tokens.";

struct Fixture {
  Fixture() {
    for (std::size_t i = 0; i < inputs; ++i)
      (void)written.add({{0, 0.0}, {1, 0.5}, {balance, 1.0}});
    written.write(folder.path() / "model");
    auto started = Server::start({.state_dir = folder.path() / "state",
                                  .models = {{.name = "written", .dir = folder.path() / "model"}},
                                  .threads = 1});
    REQUIRE(started.has_value());
    server = std::move(*started);
    api.emplace(*server);
    session = api->session();
  }

  /// A model whose head has this B and an A that makes the derivative by B that by the logits.
  std::string model_with(const std::vector<float>& first) {
    std::vector<float> b(vocab);
    std::copy(first.begin(), first.end(), b.begin());
    const std::vector<float> a(width, 1.0F / scale);
    const std::string name = linear;
    const std::vector<model::TensorSource> tensors{{name + "lora_A.weight", {1, width}, a},
                                                   {name + "lora_B.weight", {vocab, 1}, b}};
    const auto file = folder.path() / "start.safetensors";
    REQUIRE(model::write_safetensors(file, tensors, model::StoredType::f32, {}).has_value());
    const auto answer = api->http.call(
        "POST", "/api/v1/import_checkpoint?base_model=written",
        tar_of({{"adapter_config.json", R"({"peft_type":"LORA","r":1,"lora_alpha":32})"},
                {"adapter_model.safetensors", read_text(file)}}),
        {{"Content-Type", "application/x-tar"}});
    INFO(answer.body);
    REQUIRE(answer.status == 200);
    const std::string before = R"({"path":")";
    const auto path
        = answer.body.substr(before.size(), answer.body.find('"', before.size()) - before.size());
    const auto id = api->submit(
        "load_weights",
        wire::to_json(LoadWeightsRequest{
            .session_id = session, .model_seq_id = models++, .path = path, .optimizer = false}));
    return api->result<LoadWeightsResponse>(RequestType::load_weights, id).model_id;
  }

  /// Adds a gradient by the first parameters, at an input of its own, so that A's other columns
  /// stay as they are.
  /// @param shrunk what weight decay has left of A
  void add_gradient(const std::string& model_id, std::size_t input,
                    const std::vector<double>& gradient, double shrunk) {
    std::vector<std::int64_t> targets;
    std::vector<float> weights;
    float sum = 0.0F;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      targets.push_back(static_cast<std::int64_t>(i));
      weights.push_back(static_cast<float>(-gradient[i] / shrunk));
      sum += weights.back();
    }
    targets.push_back(balance);
    weights.push_back(-sum);
    const std::vector<std::int64_t> shape{1, static_cast<std::int64_t>(targets.size())};
    const Datum datum{.model_input = ModelInput::from_ints({static_cast<Token>(input)}),
                      .loss_fn_inputs = {{"target_tokens", TensorData::of(targets, shape)},
                                         {"weights", TensorData::of(weights, shape)}}};
    const auto id = api->submit(
        "forward_backward",
        wire::to_json(ForwardBackwardRequest{.model_id = model_id,
                                             .data = BatchSlice::whole(make_batch({datum}))})
            .value());
    (void)api->result<ForwardBackwardOutput>(RequestType::forward_backward, id);
  }

  /// The files of a checkpoint of the model as it is now.
  std::map<std::string, std::string> saved(const std::string& model_id, const std::string& name) {
    (void)api->result<SaveWeightsResponse>(
        RequestType::save_weights,
        api->submit("save_weights",
                    wire::to_json(SaveWeightsRequest{.model_id = model_id, .path = name})));
    const auto answer
        = api->get("training_runs/" + model_id + "/checkpoints/weights/" + name + "/archive");
    REQUIRE(answer.status == 302);
    const auto& link = answer.headers.at("location");
    return read_tar(api->http.call("GET", link.substr(link.find("/api/"))).body);
  }

  std::vector<float> tensor(const std::string& bytes, const std::string& name,
                            const std::vector<std::size_t>& shape) {
    const auto file = folder.path() / "read.safetensors";
    std::ofstream{file, std::ios::binary} << bytes;
    const auto reader = model::SafetensorsReader::open(file).value();
    std::vector<float> out(shape[0] * shape[1]);
    REQUIRE(reader.read(linear + name, shape, out).has_value());
    return out;
  }

  static constexpr std::size_t inputs = 16;

  TempFolder folder;
  WrittenModel written;
  std::unique_ptr<Server> server;
  std::optional<ApiClient> api;
  std::string session;
  std::int64_t models = 0;
};

/// Only what the case sends; the rest is the server's default.
AdamParams params_of(const rapidjson::Value& sent) {
  AdamParams out;
  const auto take = [&](const char* name, double& to) {
    if (sent.HasMember(name))
      to = sent[name].GetDouble();
  };
  take("learning_rate", out.learning_rate);
  take("beta1", out.beta1);
  take("beta2", out.beta2);
  take("eps", out.eps);
  take("weight_decay", out.weight_decay);
  take("grad_clip_norm", out.grad_clip_norm);
  return out;
}

double norm(const std::vector<double>& x) {
  double sum = 0.0;
  for (const auto value : x)
    sum += value * value;
  return std::sqrt(sum);
}

} // namespace

TEST_CASE_METHOD(Fixture, "Every optimizer case goes through its steps", "[server][losses]") {
  for (const auto& x : model::numeric_cases()["optim_cases"].GetArray()) {
    const std::string name = x["id"].GetString();
    const auto model_id = model_with(numbers<float>(x["initial_params"]));
    auto b = numbers<float>(x["initial_params"]);
    const auto count = b.size();
    b.resize(vocab);
    std::size_t input = 0;
    double shrunk = 1.0;
    for (const auto& step : x["steps"].GetArray()) {
      const auto& expected = step["expected"];
      const auto number = expected["step"].GetInt();
      INFO(name << ", step " << number);
      // The norm has more than the case's parameters: the balance, and A of each input.
      std::vector<double> gradient(count + 1);
      std::vector<double> by_a;
      for (const auto& row : step["backward_grads"].GetArray()) {
        const auto added = numbers<double>(row);
        add_gradient(model_id, input++, added, shrunk);
        double along = 0.0;
        for (std::size_t i = 0; i < count; ++i) {
          gradient[i] += added[i];
          gradient[count] -= added[i];
          along += added[i] * static_cast<double>(b[i] - b[balance]);
        }
        by_a.push_back(scale * along / shrunk);
      }
      const auto own = norm({gradient.begin(), gradient.end() - 1});
      const auto whole = std::hypot(norm(gradient), norm(by_a));
      auto params = params_of(step["adam_params"]);
      if (own > 0.0)
        params.grad_clip_norm *= whole / own; // so that the share that is left is the case's
      const auto done = api->result<OptimStepResponse>(
          RequestType::optim_step,
          api->submit("optim_step",
                      wire::to_json(OptimStepRequest{.model_id = model_id, .adam_params = params})
                          .value()));
      CHECK(done.metrics.at("step:max") == number);
      CHECK(done.metrics.at("grad_norm:mean") == nearly(whole));
      CHECK(own == nearly(expected["summed_grad_norm_before_clip"].GetDouble()));
      shrunk *= 1.0 - params.learning_rate * params.weight_decay;

      const auto files = saved(model_id, "step" + std::to_string(number));
      b = tensor(files.at("adapter_model.safetensors"), "lora_B.weight", {vocab, 1});
      const auto& state = files.at("optimizer.safetensors");
      const auto m = tensor(state, "lora_B.weight.exp_avg", {vocab, 1});
      const auto v = tensor(state, "lora_B.weight.exp_avg_sq", {vocab, 1});
      const auto theta = numbers<double>(expected["params"]);
      const auto moment = numbers<double>(expected["m"]);
      const auto square = numbers<double>(expected["v"]);
      for (std::size_t i = 0; i < count; ++i) {
        CHECK(b[i] == nearly(theta[i]));
        CHECK(m[i] == nearly(moment[i]));
        CHECK(v[i] == nearly(square[i]));
      }
    }
  }
}

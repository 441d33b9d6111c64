// SPDX-License-Identifier: Apache-2.0
#include "server/model/config_file.hpp"
#include "server/model/safetensors.hpp"
#include "test/model/model_fixture.hpp"

#include <fmt/format.h>

using namespace tinkaf;
using namespace tinkaf::model;

namespace {

ModelConfig qwen_shape() {
  auto config = small_shape();
  config.kind = ModelKind::qwen3;
  config.qk_norm = true;
  config.head_dim = 12;
  config.eos_token_ids = {0, 2};
  return config;
}

std::vector<float> logits_of(const BaseModel& base) {
  std::vector<float> out;
  SequencePass pass;
  pass.forward(base.view(), base.rope(), random_tokens(40, 9));
  pass.read_logits(base.view(), [&](std::size_t, std::span<float> row) {
    out.insert(out.end(), row.begin(), row.end());
  });
  return out;
}

/// What is said about a `config.json` in which `from` became `to`.
std::string refusal(const std::string& from, const std::string& to) {
  TemporaryFolder folder;
  REQUIRE(write_config(folder / "config.json", {"a", qwen_shape()}));
  replace_in(folder / "config.json", from, to);
  const auto read = read_config(folder / "config.json");
  REQUIRE_FALSE(read);
  CHECK(read.error().code == Errc::invalid_argument);
  return read.error().message;
}

bool says(const std::string& text, const char* part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

/// Writes the tensors of a checkpoint again, dealt out to two files with an index.
void split(const std::filesystem::path& folder) {
  const auto whole = SafetensorsReader::open(folder / "model.safetensors").value();
  std::map<std::string, std::vector<float>> numbers;
  std::vector<TensorSource> parts[2];
  std::string map;
  std::size_t n = 0;
  for (const auto& [name, entry] : whole.entries()) {
    auto& x = numbers[name];
    x.resize(entry.elements);
    REQUIRE(whole.read(name, entry.shape, x));
    parts[n % 2].push_back({name, entry.shape, x});
    map += fmt::format("{}\"{}\": \"part-{}.safetensors\"", n == 0 ? "" : ", ", name, n % 2);
    ++n;
  }
  for (std::size_t i = 0; i < 2; ++i)
    REQUIRE(write_safetensors(folder / fmt::format("part-{}.safetensors", i), parts[i],
                              StoredType::bf16, {}));
  write_all(folder / "model.safetensors.index.json",
            fmt::format("{{\"metadata\": {{}}, \"weight_map\": {{{}}}}}", map));
  std::filesystem::remove(folder / "model.safetensors");
}

} // namespace

TEST_CASE("a config comes back as it was written", "[model]") {
  TemporaryFolder folder;
  auto config = qwen_shape();
  config.rope_scaling = RopeScaling{8.0, 1.0, 4.0, 64.0};
  config.rms_norm_eps = 1e-6F;
  REQUIRE(write_config(folder / "config.json", {"a/b", config}));
  const auto read = read_config(folder / "config.json").value();
  CHECK(read.name == "a/b");
  CHECK(read.config == config);
}

TEST_CASE("newer configs tell the rotation in one object", "[model]") {
  TemporaryFolder folder;
  REQUIRE(write_config(folder / "config.json", {"a", qwen_shape()}));
  replace_in(folder / "config.json", "\"rope_scaling\": null",
             R"("rope_parameters": {"rope_theta": 500000.0, "rope_type": "llama3", "factor": 32.0,
                "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8192})");
  const auto config = read_config(folder / "config.json").value().config;
  CHECK(config.rope_theta == 500000.0F);
  CHECK(config.rope_scaling == RopeScaling{32.0, 1.0, 4.0, 8192.0});
}

TEST_CASE("the end tokens are those that the model is sampled with", "[model]") {
  TemporaryFolder folder;
  REQUIRE(write_config(folder / "config.json", {"a", qwen_shape()}));
  CHECK(read_config(folder / "config.json").value().config.eos_token_ids == std::vector{0, 2});
  write_all(folder / "generation_config.json", R"({"eos_token_id": 7})");
  CHECK(read_config(folder / "config.json").value().config.eos_token_ids == std::vector{7});
  write_all(folder / "generation_config.json", R"({"eos_token_id": [7, 99999]})");
  CHECK(holds(read_config(folder / "config.json").error(), "eos_token_id"));
}

TEST_CASE("what the arithmetic lacks is refused by the name of its field", "[model]") {
  CHECK(says(refusal("\"qwen3\"", "\"qwen3_moe\""), "model_type: is \"qwen3_moe\""));
  CHECK(says(refusal("\"attention_bias\": false", "\"attention_bias\": true"), "attention_bias"));
  CHECK(says(refusal("\"mlp_bias\": false", "\"use_sliding_window\": true"), "use_sliding_window"));
  CHECK(says(refusal("\"mlp_bias\": false",
                     "\"layer_types\": [\"full_attention\", \"sliding_attention\"]"),
             "sliding_attention"));
  CHECK(says(refusal("\"mlp_bias\": false", "\"quantization_config\": {\"bits\": 4}"),
             "quantization_config"));
  CHECK(says(refusal("\"mlp_bias\": false", "\"num_experts\": 8"), "num_experts"));
  CHECK(says(
      refusal("\"rope_scaling\": null", R"("rope_scaling": {"rope_type": "yarn", "factor": 4.0})"),
      "rope_scaling: rope_type: \"yarn\""));
  CHECK(says(refusal("\"rope_scaling\": null",
                     R"("rope_scaling": {"rope_type": "llama3", "factor": 4.0})"),
             "low_freq_factor"));
  CHECK(says(refusal("\"silu\"", "\"gelu\""), "hidden_act"));
}

TEST_CASE("weights give the same bits packed, in parts and whole", "[model]") {
  TemporaryFolder folder;
  REQUIRE(write_random_model(folder / "model", qwen_shape()));
  const auto wide = BaseModel::load(folder / "model").value();
  const auto packed = BaseModel::load(folder / "model", {}, {.pack_above = 0}).value();
  CHECK(packed->weight_bytes() < 0.6 * static_cast<double>(wide->weight_bytes()));
  const auto expected = logits_of(*wide);
  CHECK(logits_of(*packed) == expected);

  split(folder / "model");
  CHECK(logits_of(*BaseModel::load(folder / "model").value()) == expected);
}

TEST_CASE("parts of a checkpoint stay inside its folder", "[model]") {
  TemporaryFolder folder;
  REQUIRE(write_random_model(folder / "model"));
  split(folder / "model");
  replace_in(folder / "model/model.safetensors.index.json", "part-0", "../part-0");
  const auto loaded = BaseModel::load(folder / "model");
  REQUIRE_FALSE(loaded);
  CHECK(holds(loaded.error(), "weight_map: \"../part-0.safetensors\""));
}

TEST_CASE("a tensor that the model does not know is refused", "[model]") {
  TemporaryFolder folder;
  REQUIRE(write_random_model(folder / "model", qwen_shape()));
  replace_in(folder / "model/config.json", "\"qwen3\"", "\"llama\"");
  const auto loaded = BaseModel::load(folder / "model");
  REQUIRE_FALSE(loaded);
  CHECK(holds(loaded.error(), "_norm.weight\" is none of a dense llama model"));
}

TEST_CASE("the context is bounded by the model and, on request, by the caller", "[model]") {
  TemporaryFolder folder;
  REQUIRE(write_random_model(folder / "model"));
  CHECK(BaseModel::load(folder / "model").value()->max_context_length() == 128);
  CHECK(BaseModel::load(folder / "model", {}, {.context = 64}).value()->max_context_length() == 64);
  CHECK(holds(BaseModel::load(folder / "model", {}, {.context = 129}).error(), "context: 129"));
  auto large = small_shape();
  large.hidden_size = 2048;
  large.intermediate_size = 8192;
  large.num_hidden_layers = 16;
  large.max_position_embeddings = 131072;
  CHECK(usual_context(large) >= 512);
  CHECK(usual_context(large) * SequencePass::bytes_per_token(large) <= std::size_t{4} << 30);
}

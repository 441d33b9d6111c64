// SPDX-License-Identifier: Apache-2.0
#include "server/model/random_model.hpp"

#include "server/model/atomic_file.hpp"
#include "server/model/config_file.hpp"
#include "server/model/random.hpp"
#include "text/bpe_trainer.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tinkaf::model {

namespace {

constexpr const char* model_name = "tinkaf/random";

/// A vocabulary without merges.
std::string byte_vocabulary() {
  text::BpeOptions options;
  options.vocab_size = options.special_tokens.size() + 256;
  return text::train_bpe({}, options).value();
}

std::vector<float> random_weights(const BaseLayout& layout, std::uint64_t seed) {
  std::vector<float> out(layout.size);
  for (const auto& tensor : layout.tensors) {
    Random random{mix(seed, tensor.name)};
    const double deviation = 1.0 / std::sqrt(static_cast<double>(tensor.columns));
    for (std::size_t i = 0; i < tensor.size(); ++i)
      out[tensor.offset + i] = static_cast<float>(
          tensor.columns == 1 ? 1.0 + 0.1 * random.normal() : deviation * random.normal());
  }
  return out;
}

} // namespace

ModelConfig small_shape() {
  ModelConfig c;
  c.vocab_size = 259;
  c.hidden_size = 32;
  c.intermediate_size = 48;
  c.num_hidden_layers = 2;
  c.num_attention_heads = 4;
  c.num_key_value_heads = 2;
  c.head_dim = 8;
  c.max_position_embeddings = 128;
  return c;
}

std::shared_ptr<const BaseModel> random_model(const ModelConfig& config, std::uint64_t seed) {
  return std::make_shared<const BaseModel>(
      model_name, config, random_weights(BaseLayout{config}, seed),
      text::Tokenizer::parse(byte_vocabulary(), "byte vocabulary").value());
}

Result<void> write_random_model(const std::filesystem::path& folder, const ModelConfig& config,
                                std::uint64_t seed) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error)
    return fail(Errc::io_error,
                fmt::format("cannot create {}: {}", folder.string(), error.message()));
  const BaseLayout layout{config};
  auto done = write_config(folder / "config.json", {model_name, config});
  if (done)
    done = write_text_file(folder / "tokenizer.json", byte_vocabulary());
  if (done)
    done = save_weights(folder / "model.safetensors", layout, random_weights(layout, seed));
  return done;
}

} // namespace tinkaf::model

// SPDX-License-Identifier: Apache-2.0
#include "server/model/base_model.hpp"

#include "server/model/config_file.hpp"
#include "server/model/kernels.hpp"
#include "server/model/safetensors.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace tinkaf::model {

namespace {

std::vector<std::size_t> shape_of(const Tensor& x) {
  return x.columns == 1 ? std::vector{x.rows} : std::vector{x.rows, x.columns};
}

/// Floats that the layout of `config` needs, in double so that it cannot wrap.
double weight_count(const ModelConfig& c) {
  const auto hidden = static_cast<double>(c.hidden_size);
  const double attention = 2 * hidden * static_cast<double>(c.query_width() + c.kv_width());
  const double mlp = 3 * hidden * static_cast<double>(c.intermediate_size);
  return static_cast<double>(c.num_hidden_layers) * (attention + mlp)
         + hidden * static_cast<double>(c.vocab_size);
}

Result<void> check_arithmetic() {
  const auto report = kernels::self_test();
  if (report.worst_error <= kernels::self_test_limit)
    return {};
  return fail(Errc::internal,
              fmt::format("the arithmetic of this machine is wrong: {} is off by {:.1e} (limit "
                          "{:.1e}); try OPENBLAS_CORETYPE=Haswell",
                          report.worst_kernel, report.worst_error, kernels::self_test_limit));
}

} // namespace

BaseModel::BaseModel(std::string name, ModelConfig config, std::vector<float> weights,
                     text::Tokenizer tokenizer)
    : name_(std::move(name)), config_(config), layout_(config), weights_(std::move(weights)),
      rope_(config, config.max_position_embeddings), tokenizer_(std::move(tokenizer)) {
  kernels::pin_to_one_thread();
}

WeightsView BaseModel::view() const noexcept {
  return {&config_, &layout_, weights_.data(), weights_.data() + layout_.head};
}

Result<std::shared_ptr<const BaseModel>> BaseModel::load(const std::filesystem::path& folder,
                                                         std::string name) {
  kernels::pin_to_one_thread();
  if (auto checked = check_arithmetic(); !checked)
    return fail(checked.error());
  auto file = read_config(folder / "config.json");
  if (!file)
    return fail(file.error());
  auto tokenizer = text::Tokenizer::load(folder / "tokenizer.json");
  if (!tokenizer)
    return fail(tokenizer.error());
  const auto& config = file->config;
  if (tokenizer->vocab_size() > config.vocab_size)
    return fail(Errc::invalid_argument,
                fmt::format("{}: holds {} tokens, more than vocab_size {} of config.json",
                            (folder / "tokenizer.json").string(), tokenizer->vocab_size(),
                            config.vocab_size));
  const auto weights_file = folder / "model.safetensors";
  const auto reader = SafetensorsReader::open(weights_file);
  if (!reader)
    return fail(reader.error());
  // Nothing is allocated on the word of config.json alone.
  double stored = 0;
  for (const auto& [tensor, entry] : reader->entries())
    stored += static_cast<double>(entry.elements);
  if (weight_count(config) > stored)
    return fail(Errc::invalid_argument,
                fmt::format("{}: holds {} numbers, fewer than the {} of config.json's shape",
                            weights_file.string(), stored, weight_count(config)));
  const BaseLayout layout{config};
  std::vector<float> weights(layout.size);
  for (const auto& tensor : layout.tensors) {
    const std::span out{weights.data() + tensor.offset, tensor.size()};
    if (auto done = reader->read(tensor.name, shape_of(tensor), out); !done)
      return fail(done.error());
    for (const float x : out)
      if (!std::isfinite(x))
        return fail(Errc::invalid_argument,
                    fmt::format("{}: tensor \"{}\" holds a number that is not finite",
                                weights_file.string(), tensor.name));
  }
  if (name.empty())
    name = file->name;
  return std::make_shared<const BaseModel>(std::move(name), config, std::move(weights),
                                           std::move(*tokenizer));
}

Result<void> save_weights(const std::filesystem::path& file, const BaseLayout& layout,
                          std::span<const float> weights) {
  std::vector<TensorSource> sources;
  for (const auto& tensor : layout.tensors)
    sources.push_back(
        {tensor.name, shape_of(tensor), weights.subspan(tensor.offset, tensor.size())});
  return write_safetensors(file, sources, StoredType::bf16, {{"format", "pt"}});
}

} // namespace tinkaf::model

// SPDX-License-Identifier: Apache-2.0
#include "server/model/base_model.hpp"

#include "server/model/config_file.hpp"
#include "server/model/kernels.hpp"
#include "server/model/safetensors.hpp"
#include "server/model/weight_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
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

/// A tensor that we do not know may change the arithmetic; those that we know to be superfluous
/// are the head of a model whose head is the embedding, and tables of the rotation.
Result<void> check_names(const WeightFiles& files, const BaseLayout& layout,
                         const ModelConfig& config) {
  std::set<std::string_view> known;
  for (const auto& tensor : layout.tensors)
    known.insert(tensor.name);
  for (const auto& name : files.tensors()) {
    const bool superfluous = name.ends_with(".rotary_emb.inv_freq")
                             || (config.tie_word_embeddings && name == "lm_head.weight");
    if (!superfluous && !known.contains(name))
      return fail(Errc::invalid_argument,
                  fmt::format("{}: tensor \"{}\" is none of a dense {} model without biases",
                              files.folder().string(), name, to_string(config.kind)));
  }
  return {};
}

bool is_finite(float x) {
  return std::isfinite(x);
}
bool is_finite(std::uint16_t bf16) {
  return (bf16 & 0x7F80) != 0x7F80;
}

struct LoadedWeights {
  std::vector<float> floats;
  std::vector<std::uint16_t> packed;
};

template <class T>
Result<void> check_finite(const SafetensorsReader& file, const Tensor& tensor, std::span<T> x) {
  for (const auto number : x)
    if (!is_finite(number))
      return fail(Errc::invalid_argument,
                  fmt::format("{}: tensor \"{}\" holds a number that is not finite",
                              file.path().string(), tensor.name));
  return {};
}

/// Each tensor goes straight to its place, so that no second copy of the weights is ever held.
Result<LoadedWeights> read_weights(const WeightFiles& files, const BaseLayout& layout,
                                   const LoadOptions& options) {
  bool packed = layout.size - layout.vectors > options.pack_above;
  for (const auto& tensor : layout.tensors) {
    const auto file = files.file_of(tensor.name);
    if (!file)
      return fail(file.error());
    if (tensor.offset >= layout.vectors)
      packed = packed && (*file)->entries().at(tensor.name).type == StoredType::bf16;
  }
  LoadedWeights out;
  out.floats.resize(packed ? layout.vectors : layout.size);
  out.packed.resize(packed ? layout.size - layout.vectors : 0);
  for (const auto& tensor : layout.tensors) {
    const auto& file = **files.file_of(tensor.name);
    auto done = Result<void>{};
    if (packed && tensor.offset >= layout.vectors) {
      const std::span to{out.packed.data() + (tensor.offset - layout.vectors), tensor.size()};
      done = file.read_bf16(tensor.name, shape_of(tensor), to);
      if (done)
        done = check_finite(file, tensor, to);
    } else {
      const std::span to{out.floats.data() + tensor.offset, tensor.size()};
      done = file.read(tensor.name, shape_of(tensor), to);
      if (done)
        done = check_finite(file, tensor, to);
    }
    if (!done)
      return fail(done.error());
  }
  return out;
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

std::size_t usual_context(const ModelConfig& config) noexcept {
  constexpr std::size_t budget = std::size_t{4} << 30;
  constexpr std::size_t least = 512;
  const auto fits = std::max(least, budget / SequencePass::bytes_per_token(config));
  return std::min(config.max_position_embeddings, fits);
}

BaseModel::BaseModel(std::string name, ModelConfig config, std::vector<float> weights,
                     text::Tokenizer tokenizer)
    : BaseModel(std::move(name), config, config.max_position_embeddings, std::move(weights), {},
                std::move(tokenizer)) {}

BaseModel::BaseModel(std::string name, ModelConfig config, std::size_t context,
                     std::vector<float> vectors, std::vector<std::uint16_t> matrices,
                     text::Tokenizer tokenizer)
    : name_(std::move(name)), config_(std::move(config)), layout_(config_), context_(context),
      floats_(std::move(vectors)), packed_(std::move(matrices)), rope_(config_, context),
      tokenizer_(std::move(tokenizer)) {
  kernels::pin_to_one_thread();
}

WeightsView BaseModel::view() const noexcept {
  return {&config_, &layout_, floats_.data(), packed_.empty() ? nullptr : packed_.data()};
}

Result<std::shared_ptr<const BaseModel>>
BaseModel::load(const std::filesystem::path& folder, std::string name, const LoadOptions& options) {
  kernels::pin_to_one_thread();
  if (auto checked = check_arithmetic(); !checked)
    return fail(checked.error());
  auto file = read_config(folder / "config.json");
  if (!file)
    return fail(file.error());
  const auto& config = file->config;
  if (options.context > config.max_position_embeddings)
    return fail(Errc::invalid_argument,
                fmt::format("context: {} is more than max_position_embeddings of {}, {}",
                            options.context, (folder / "config.json").string(),
                            config.max_position_embeddings));
  auto tokenizer = text::Tokenizer::load(folder / "tokenizer.json");
  if (!tokenizer)
    return fail(tokenizer.error());
  if (tokenizer->vocab_size() > config.vocab_size)
    return fail(Errc::invalid_argument,
                fmt::format("{}: holds {} tokens, more than vocab_size {} of config.json",
                            (folder / "tokenizer.json").string(), tokenizer->vocab_size(),
                            config.vocab_size));
  const auto files = WeightFiles::open(folder);
  if (!files)
    return fail(files.error());
  // Nothing is allocated on the word of config.json alone.
  if (weight_count(config) > files->elements())
    return fail(Errc::invalid_argument,
                fmt::format("{}: holds {} numbers, fewer than the {} of config.json's shape",
                            folder.string(), files->elements(), weight_count(config)));
  const BaseLayout layout{config};
  if (auto known = check_names(*files, layout, config); !known)
    return fail(known.error());
  auto weights = read_weights(*files, layout, options);
  if (!weights)
    return fail(weights.error());
  const auto context = options.context > 0 ? options.context : usual_context(config);
  return std::make_shared<const BaseModel>(name.empty() ? file->name : std::move(name), config,
                                           context, std::move(weights->floats),
                                           std::move(weights->packed), std::move(*tokenizer));
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

// SPDX-License-Identifier: Apache-2.0
#include "server/model/peft_import.hpp"

#include "server/model/adapter_config.hpp"
#include "server/model/json_fields.hpp"
#include "server/model/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::model {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t largest_rank = std::size_t{1} << 14;

/// What a foreign config says of the scale.
struct ForeignConfig {
  std::size_t rank = 0;
  double scale = 0.0;
};

Result<ForeignConfig> read_config(const fs::path& file) {
  auto read = JsonFields::read(file);
  if (!read)
    return fail(read.error());
  auto& fields = *read;
  if (fields.text("peft_type") != "LORA")
    fields.bad("peft_type", "must be \"LORA\"");
  const auto rank = fields.integer("r", 1, static_cast<std::int64_t>(largest_rank));
  const auto alpha = fields.number("lora_alpha", 8.0); // PEFT's default
  for (const char* name : {"use_dora", "fan_in_fan_out"})
    if (fields.flag(name))
      fields.bad(name, "only false is supported");
  for (const char* name : {"rank_pattern", "alpha_pattern"})
    if (fields.present(name) && !fields.object(name).empty())
      fields.bad(name, "must be empty; one rank for all matrices is supported");
  if (const auto bias = fields.text("bias"); !bias.empty() && bias != "none")
    fields.bad("bias", "only \"none\" is supported");
  const bool stabilised = fields.flag("use_rslora");
  if (auto good = fields.check(); !good)
    return fail(good.error());
  const auto r = static_cast<double>(rank);
  return ForeignConfig{static_cast<std::size_t>(rank), alpha / (stabilised ? std::sqrt(r) : r)};
}

/// Finds a tensor under one of the names that PEFT and this server give it.
std::string find_tensor(const SafetensorsReader& reader, const std::string& linear,
                        const std::string& part) {
  std::vector<std::string> names{linear};
  if (linear.ends_with("unembed_tokens"))
    names.insert(names.end(), {"lm_head", "model.lm_head"});
  for (const auto& name : names)
    for (const auto& prefix : {"base_model.model.", ""})
      for (const auto& suffix : {".weight", ".default.weight"})
        if (auto full = fmt::format("{}{}.{}{}", prefix, name, part, suffix); reader.contains(full))
          return full;
  return {};
}

struct Pair {
  std::vector<float> a; // [rank, in]
  std::vector<float> b; // [out, rank]
};

Result<std::vector<float>> read_finite(const SafetensorsReader& reader, const std::string& name,
                                       const std::vector<std::size_t>& shape) {
  // The file tells its own size; what is expected may be far larger.
  if (reader.entries().at(name).shape != shape)
    return fail(Errc::invalid_argument,
                fmt::format("{}: tensor \"{}\" has the shape [{}], must be [{}]",
                            reader.path().filename().string(), name,
                            fmt::join(reader.entries().at(name).shape, ", "),
                            fmt::join(shape, ", ")));
  std::vector<float> out(shape[0] * shape[1]);
  if (auto done = reader.read(name, shape, out); !done)
    return fail(done.error());
  if (!std::all_of(out.begin(), out.end(), [](float x) { return std::isfinite(x); }))
    return fail(Errc::invalid_argument,
                fmt::format("{}: tensor \"{}\" holds a number that is not finite",
                            reader.path().filename().string(), name));
  return out;
}

/// The matrices that an adapter has, by their names in the full layout.
Result<std::map<std::string, Pair>> read_pairs(const SafetensorsReader& reader,
                                               const AdapterLayout& all, std::size_t rank) {
  std::map<std::string, Pair> out;
  for (const auto& x : all.linears) {
    const auto a = find_tensor(reader, x.name, "lora_A");
    const auto b = find_tensor(reader, x.name, "lora_B");
    if (a.empty() && b.empty())
      continue;
    if (a.empty() || b.empty())
      return fail(Errc::invalid_argument,
                  fmt::format("{}: {} has lora_{} but no lora_{}",
                              reader.path().filename().string(), x.name, a.empty() ? "B" : "A",
                              a.empty() ? "A" : "B"));
    auto of_a = read_finite(reader, a, {rank, x.in});
    if (!of_a)
      return fail(std::move(of_a.error()));
    auto of_b = read_finite(reader, b, {x.out, rank});
    if (!of_b)
      return fail(std::move(of_b.error()));
    out[x.name] = {std::move(*of_a), std::move(*of_b)};
  }
  if (reader.entries().size() != 2 * out.size()) {
    for (const auto& [name, entry] : reader.entries())
      if (std::none_of(all.linears.begin(), all.linears.end(), [&, &name = name](const auto& x) {
            return find_tensor(reader, x.name, "lora_A") == name
                   || find_tensor(reader, x.name, "lora_B") == name;
          }))
        return fail(Errc::invalid_argument,
                    fmt::format("{}: tensor \"{}\" belongs to no matrix of the base model",
                                reader.path().filename().string(), name));
  }
  if (out.empty())
    return fail(Errc::invalid_argument,
                fmt::format("{}: holds no tensors", reader.path().filename().string()));
  return out;
}

/// Matrices of one rank with the factor that their product has.
struct Source {
  std::size_t rank = 0;
  double scale = 0.0;
  std::map<std::string, Pair> pairs;
};

Result<Adapter> combine(const std::shared_ptr<const BaseModel>& base,
                        const std::vector<Source>& sources, std::int64_t seed) {
  std::size_t rank = 0;
  LoraConfig config{.seed = seed, .train_unembed = false, .train_mlp = false, .train_attn = false};
  for (const auto& source : sources) {
    rank += source.rank;
    for (const auto& [name, pair] : source.pairs) {
      config.train_attn = config.train_attn || name.find(".self_attn.") != std::string::npos;
      config.train_mlp = config.train_mlp || name.find(".mlp.") != std::string::npos;
      config.train_unembed = config.train_unembed || name.ends_with("unembed_tokens");
    }
  }
  rank = std::bit_ceil(rank);
  if (rank > largest_rank)
    return fail(
        Errc::invalid_argument,
        fmt::format("the ranks add up to {}, at most {} are supported", rank, largest_rank));
  config.rank = static_cast<std::int32_t>(rank);
  auto adapter = Adapter::create(base, config);
  if (!adapter)
    return adapter;
  auto flat = adapter->weights().parameters();
  const auto& layout = adapter->weights().layout();
  for (const auto& x : layout.linears) {
    std::size_t first = 0; // rank
    for (const auto& source : sources) {
      const auto found = source.pairs.find(x.name);
      if (found != source.pairs.end()) {
        const auto& [a, b] = found->second;
        std::copy(a.begin(), a.end(),
                  flat.begin() + static_cast<std::ptrdiff_t>(x.a + first * x.in));
        const auto factor = source.scale / static_cast<double>(layout.scale);
        for (std::size_t row = 0; row < x.out; ++row)
          for (std::size_t i = 0; i < source.rank; ++i)
            flat[x.b + row * rank + first + i]
                = static_cast<float>(factor * static_cast<double>(b[row * source.rank + i]));
      }
      first += source.rank;
    }
  }
  if (!std::all_of(flat.begin(), flat.end(), [](float x) { return std::isfinite(x); }))
    return fail(Errc::invalid_argument, "the adapter holds numbers that float32 cannot");
  adapter->set_parameters(flat);
  return adapter;
}

Result<Source> read_source(const BaseModel& base, const fs::path& folder,
                           const ForeignConfig& config) {
  const auto reader = SafetensorsReader::open(folder / "adapter_model.safetensors");
  if (!reader)
    return fail(reader.error());
  const AdapterLayout all{base.config(), 1, true, true, true};
  auto pairs = read_pairs(*reader, all, config.rank);
  if (!pairs)
    return fail(std::move(pairs.error()));
  return Source{config.rank, config.scale, std::move(*pairs)};
}

} // namespace

Result<Adapter> import_peft(const std::shared_ptr<const BaseModel>& base, const fs::path& folder,
                            std::int64_t seed) {
  const auto config = read_config(folder / "adapter_config.json");
  if (!config)
    return fail(config.error());
  auto source = read_source(*base, folder, *config);
  if (!source)
    return fail(std::move(source.error()));
  return combine(base, {std::move(*source)}, seed);
}

Result<Adapter> merge_adapters(const std::shared_ptr<const BaseModel>& base,
                               std::span<const MergePart> parts, std::int64_t seed) {
  std::vector<Source> sources;
  for (const auto& part : parts) {
    const auto config = read_adapter_config(part.folder / "adapter_config.json", base->name());
    if (!config)
      return fail(config.error());
    const auto rank = static_cast<double>(config->rank);
    auto source
        = read_source(*base, part.folder,
                      {static_cast<std::size_t>(config->rank), part.weight * lora_alpha / rank});
    if (!source)
      return fail(std::move(source.error()));
    sources.push_back(std::move(*source));
  }
  return combine(base, sources, seed);
}

} // namespace tinkaf::model

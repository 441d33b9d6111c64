// SPDX-License-Identifier: Apache-2.0
#include "train/model_rates.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

namespace tinkaf::train {

namespace {

struct Known {
  /// How names of the model begin, the owner left out.
  std::string_view model;
  std::int64_t hidden_size = 0;

  // Parameters of an adapter of rank 1; all 0 where they are not known.
  std::int64_t mlp = 0;
  std::int64_t attention = 0;
  std::int64_t unembedding = 0;
};

constexpr std::array models{
    Known{"Llama-3.2-1B", 2048, 491'520, 212'992, 130'304},
    Known{"Llama-3.2-3B", 3072, 946'176, 573'440, 131'328},
    Known{"Llama-3.1-8B", 4096, 1'769'472, 851'968, 132'352},
    Known{"Llama-3.1-70B", 8192, 8'847'360, 4'096'000, 136'448},
    Known{"Llama-3.3-70B", 8192, 8'847'360, 4'096'000, 136'448},
    Known{"Qwen3-4B-Instruct-2507", 2560, 1'327'104, 737'280, 154'496},
    Known{"Qwen3-8B", 4096, 1'769'472, 958'464, 156'032},
    Known{"Qwen3-30B-A3B", 2048, 14'450'688, 835'584, 153'984},
    Known{"Qwen3-32B", 5120, 5'898'240, 2'490'368, 157'056},
    Known{"Qwen3-235B-A22B", 4096, 56'598'528, 3'176'448, 156'032},
    Known{"Qwen3-VL-30B-A3B", 2048},
    Known{"Qwen3-VL-235B-A22B", 4096},
    Known{"Qwen3.5-4B", 2560, 1'130'496, 897'024, 250'880},
    Known{"Qwen3.5-9B", 4096, 1'572'864, 1'130'496, 252'416},
    Known{"Qwen3.5-27B", 5120, 4'325'376, 2'965'504, 253'440},
    Known{"Qwen3.5-35B-A3B", 2048, 16'281'600, 1'013'760, 250'368},
    Known{"Qwen3.5-397B-A17B", 4096, 96'030'720, 2'841'600, 252'416},
    Known{"Qwen3.6-27B", 5120, 4'325'376, 2'965'504, 253'440},
    Known{"Qwen3.6-35B-A3B", 2048, 16'281'600, 1'013'760, 250'368},
    Known{"Qwen3.8-27B", 5120, 4'325'376, 2'965'504, 253'440},
    Known{"gpt-oss-20b", 2880, 6'842'880, 497'664, 203'968},
    Known{"gpt-oss-120b", 2880, 40'124'160, 746'496, 203'968},
    Known{"DeepSeek-V3.1", 7168, 94'307'328, 2'440'000, 136'448},
    Known{"Kimi-K2", 7168, 144'583'680, 1'940'288, 171'008},
    Known{"Kimi-K2.6", 7168, 144'583'680, 1'940'288, 171'008},
    Known{"Nemotron-3-Ultra", 8192},
    Known{"Nemotron-3-Super", 4096},
    Known{"Nemotron-3-Nano", 2688},
    Known{"Nemotron-3.5-Lightning", 2688},
    Known{"Inkling", 6144},
    Known{"Inkling-Small", 4096},
};

/// Families for which the rule is known not to be calibrated.
constexpr std::array uncalibrated{"inkling",   "deepseek-v3.1", "gpt-oss-20b", "gpt-oss-120b",
                                  "kimi-k2.6", "nemotron-3",    "nemotron-3.5"};

std::string_view without_owner(std::string_view model) {
  const auto slash = model.rfind('/');
  return slash == std::string_view::npos ? model : model.substr(slash + 1);
}

std::string lower(std::string_view text) {
  auto result = std::string{text};
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

/// True if `name` is `start`, or goes on behind a dash or a colon.
bool begins(std::string_view name, std::string_view start) {
  if (!name.starts_with(start))
    return false;
  return name.size() == start.size() || name[start.size()] == '-' || name[start.size()] == ':';
}

/// The entry that fits most of a name; nullptr if none does.
const Known* find(std::string_view model) {
  const auto name = without_owner(model);
  const Known* best = nullptr;
  for (const auto& known : models)
    if (begins(name, known.model) && (best == nullptr || known.model.size() > best->model.size()))
      best = &known;
  return best;
}

tl::unexpected<Error> unknown(std::string_view model, std::string_view what) {
  return fail(Errc::not_found, fmt::format("{} of model `{}` is not known here", what, model));
}

} // namespace

Result<std::int64_t> hidden_size(std::string_view model) {
  if (const auto* known = find(model))
    return known->hidden_size;
  return unknown(model, "the hidden size");
}

Result<std::int64_t> hidden_size_in(std::string_view config_json) {
  rapidjson::Document document;
  document.Parse(config_json.data(), config_json.size());
  const rapidjson::Value& json = document;
  const auto size_of = [](const rapidjson::Value& object) -> std::int64_t {
    const auto found = object.FindMember("hidden_size");
    return found != object.MemberEnd() && found->value.IsInt64() ? found->value.GetInt64() : 0;
  };
  std::int64_t size = 0;
  if (!document.HasParseError() && json.IsObject()) {
    size = size_of(json);
    const auto nested = json.FindMember("text_config");
    if (size <= 0 && nested != json.MemberEnd() && nested->value.IsObject())
      size = size_of(nested->value);
  }
  if (size > 0)
    return size;
  return fail(Errc::invalid_argument,
              "the model's configuration has no hidden_size above 0, nor one in text_config");
}

Result<double> recommended_learning_rate(std::string_view model, bool lora,
                                         std::optional<std::int64_t> hidden_size_given) {
  const auto name = lower(without_owner(model));
  for (const auto* family : uncalibrated)
    if (begins(name, family))
      return fail(Errc::invalid_argument,
                  fmt::format("no learning rate is recommended for `{}`: the rule has not been "
                              "calibrated for {}; try some",
                              model, family));
  const auto whole = lower(model);
  const auto is_llama = whole.find("llama") != std::string::npos;
  if (!is_llama && whole.find("qwen") == std::string::npos)
    return unknown(model, "the learning rate");
  const auto size
      = hidden_size_given ? Result<std::int64_t>{*hidden_size_given} : hidden_size(model);
  if (!size)
    return fail(size.error());
  if (*size <= 0)
    return fail(Errc::invalid_argument,
                fmt::format("hidden_size is {}, but must be above 0", *size));
  constexpr auto full_rate = 5e-5;
  constexpr auto lora_factor = 10.0;
  constexpr auto reference_width = 2000.0;
  const auto exponent = is_llama ? 0.781 : 0.0775;
  return full_rate * (lora ? lora_factor : 1.0)
         * std::pow(reference_width / static_cast<double>(*size), exponent);
}

Result<std::int64_t> lora_parameters(std::string_view model, std::int64_t rank,
                                     const LoraParts& parts) {
  if (rank < 1)
    return fail(Errc::invalid_argument, fmt::format("rank is {}, but must be at least 1", rank));
  if (!parts.mlp && !parts.attention && !parts.unembedding)
    return fail(Errc::invalid_argument,
                "mlp, attention and unembedding are all off, but an adapter needs one of them");
  const auto* known = find(model);
  if (known == nullptr || known->mlp == 0)
    return unknown(model, "the adapter");
  return rank
         * ((parts.mlp ? known->mlp : 0) + (parts.attention ? known->attention : 0)
            + (parts.unembedding ? known->unembedding : 0));
}

} // namespace tinkaf::train

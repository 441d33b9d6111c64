// SPDX-License-Identifier: Apache-2.0
#include "server/model/config_file.hpp"

#include "server/model/atomic_file.hpp"
#include "server/model/json_fields.hpp"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <cmath>
#include <optional>
#include <string_view>

namespace tinkaf::model {

namespace {

/// Larger sizes are a damaged file; the bound also keeps products of two sizes from wrapping.
constexpr std::int64_t largest_size = 1 << 24;

std::size_t size(JsonFields& fields, const char* name, std::optional<std::int64_t> otherwise = {}) {
  return static_cast<std::size_t>(fields.integer(name, 1, largest_size, otherwise));
}

double positive(JsonFields& fields, const char* name, std::optional<double> otherwise = {}) {
  if (!fields.present(name) && !otherwise) {
    fields.bad(name, "must be a number above 0");
    return 1.0;
  }
  const auto x = fields.number(name, otherwise.value_or(0.0));
  if (x > 0.0 && std::isfinite(static_cast<float>(x)))
    return x;
  fields.bad(name, "must be a number above 0");
  return 1.0;
}

ModelKind read_kind(JsonFields& fields) {
  const auto type = fields.text("model_type");
  for (const auto kind : {ModelKind::llama, ModelKind::qwen3})
    if (type == to_string(kind))
      return kind;
  fields.bad("model_type", fmt::format("is \"{}\", must be \"llama\" or \"qwen3\"", type));
  return ModelKind::llama;
}

/// What changes the arithmetic in a way that we do not have is refused rather than left out.
void refuse_unsupported(JsonFields& fields) {
  if (const auto act = fields.text("hidden_act"); !act.empty() && act != "silu")
    fields.bad("hidden_act", fmt::format("is \"{}\", only \"silu\" is supported", act));
  for (const char* name : {"attention_bias", "mlp_bias"})
    if (fields.flag(name))
      fields.bad(name, "biases are not supported");
  if (fields.present("quantization_config"))
    fields.bad("quantization_config", "quantized weights are not supported; convert them to "
                                      "bfloat16 first");
  for (const char* name : {"num_experts", "num_local_experts"})
    if (fields.integer(name, 0, largest_size, 0) > 1)
      fields.bad(name, "mixtures of experts are not supported");
  // A window that is switched off may still have its size written down.
  if (fields.flag("use_sliding_window"))
    fields.bad("use_sliding_window", "attention in a sliding window is not supported");
  if (fields.present("layer_types"))
    for (const auto& type : fields.texts("layer_types"))
      if (type != "full_attention")
        fields.bad("layer_types",
                   fmt::format("\"{}\" is not supported, only \"full_attention\"", type));
}

/// `field`: "rope_scaling", or "rope_parameters", which newer files have in its place.
void read_rope(JsonFields& fields, const char* field, ModelConfig& c) {
  if (!fields.present(field))
    return;
  auto rope = fields.object(field);
  auto type = rope.text("rope_type");
  if (type.empty())
    type = rope.text("type");
  c.rope_theta = static_cast<float>(positive(rope, "rope_theta", c.rope_theta));
  if (rope.number("partial_rotary_factor", 1.0) != 1.0)
    rope.bad("partial_rotary_factor", "only 1 is supported");
  if (type == "llama3") {
    RopeScaling s;
    s.factor = positive(rope, "factor");
    s.low_freq_factor = positive(rope, "low_freq_factor");
    s.high_freq_factor = positive(rope, "high_freq_factor");
    s.original_max_position_embeddings = positive(rope, "original_max_position_embeddings");
    if (s.high_freq_factor <= s.low_freq_factor)
      rope.bad("high_freq_factor", "must be above low_freq_factor");
    c.rope_scaling = s;
  } else if (!type.empty() && type != "default") {
    rope.bad("rope_type",
             fmt::format("\"{}\" is not supported, only \"default\" and \"llama3\"", type));
  }
  fields.take_fault(rope);
}

std::vector<std::int32_t> read_end_tokens(JsonFields& fields, std::size_t vocab_size) {
  std::vector<std::int32_t> out;
  for (const auto id :
       fields.integers("eos_token_id", 0, static_cast<std::int64_t>(vocab_size) - 1))
    out.push_back(static_cast<std::int32_t>(id));
  return out;
}

} // namespace

Result<ConfigFile> read_config(const std::filesystem::path& file) {
  auto object = JsonFields::read(file);
  if (!object)
    return fail(object.error());
  auto& fields = *object;
  ConfigFile out;
  auto& c = out.config;
  out.name = fields.text("_name_or_path");
  c.kind = read_kind(fields);
  c.qk_norm = c.kind == ModelKind::qwen3;
  refuse_unsupported(fields);
  c.vocab_size = size(fields, "vocab_size");
  c.hidden_size = size(fields, "hidden_size");
  c.intermediate_size = size(fields, "intermediate_size");
  c.num_hidden_layers = size(fields, "num_hidden_layers");
  c.num_attention_heads = size(fields, "num_attention_heads");
  c.num_key_value_heads
      = size(fields, "num_key_value_heads", static_cast<std::int64_t>(c.num_attention_heads));
  const auto usual_head = c.kind == ModelKind::qwen3 ? 128 : c.hidden_size / c.num_attention_heads;
  c.head_dim = size(fields, "head_dim", static_cast<std::int64_t>(usual_head));
  c.max_position_embeddings = size(fields, "max_position_embeddings");
  c.rms_norm_eps = static_cast<float>(positive(fields, "rms_norm_eps", 1e-6));
  c.rope_theta = static_cast<float>(positive(fields, "rope_theta", 10000.0));
  read_rope(fields, "rope_scaling", c);
  read_rope(fields, "rope_parameters", c);
  c.tie_word_embeddings = fields.flag("tie_word_embeddings");
  c.eos_token_ids = read_end_tokens(fields, c.vocab_size);
  if (c.num_attention_heads % c.num_key_value_heads != 0)
    fields.bad("num_key_value_heads",
               fmt::format("must divide num_attention_heads, {}", c.num_attention_heads));
  if (c.head_dim == 0 || c.head_dim % 2 != 0)
    fields.bad("head_dim", "must be even and above 0");
  if (auto good = fields.check(); !good)
    return fail(good.error());
  // What a model is sampled with may name more tokens that end a text, and it has the last word.
  const auto generation = file.parent_path() / "generation_config.json";
  if (std::filesystem::exists(generation)) {
    auto more = JsonFields::read(generation);
    if (!more)
      return fail(more.error());
    if (more->present("eos_token_id"))
      c.eos_token_ids = read_end_tokens(*more, c.vocab_size);
    if (auto good = more->check(); !good)
      return fail(good.error());
  }
  return out;
}

Result<void> write_config(const std::filesystem::path& file, const ConfigFile& x) {
  const auto& c = x.config;
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> w{buffer};
  w.SetIndent(' ', 2);
  const auto text = [&](const char* key, std::string_view value) {
    w.Key(key);
    w.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  const auto number = [&](const char* key, std::size_t value) {
    w.Key(key);
    w.Uint64(value);
  };
  const auto real = [&](const char* key, auto value) {
    // The shortest text that reads back as the same number.
    const auto shortest = fmt::format("{}", value);
    w.Key(key);
    w.RawValue(shortest.data(), shortest.size(), rapidjson::kNumberType);
  };
  const auto flag = [&](const char* key, bool value) {
    w.Key(key);
    w.Bool(value);
  };
  w.StartObject();
  text("_name_or_path", x.name);
  w.Key("architectures");
  w.StartArray();
  w.String(c.kind == ModelKind::qwen3 ? "Qwen3ForCausalLM" : "LlamaForCausalLM");
  w.EndArray();
  text("model_type", to_string(c.kind));
  text("hidden_act", "silu");
  number("vocab_size", c.vocab_size);
  number("hidden_size", c.hidden_size);
  number("intermediate_size", c.intermediate_size);
  number("num_hidden_layers", c.num_hidden_layers);
  number("num_attention_heads", c.num_attention_heads);
  number("num_key_value_heads", c.num_key_value_heads);
  number("head_dim", c.head_dim);
  number("max_position_embeddings", c.max_position_embeddings);
  real("rms_norm_eps", c.rms_norm_eps);
  real("rope_theta", c.rope_theta);
  w.Key("rope_scaling");
  if (c.rope_scaling) {
    w.StartObject();
    text("rope_type", "llama3");
    real("factor", c.rope_scaling->factor);
    real("low_freq_factor", c.rope_scaling->low_freq_factor);
    real("high_freq_factor", c.rope_scaling->high_freq_factor);
    real("original_max_position_embeddings", c.rope_scaling->original_max_position_embeddings);
    w.EndObject();
  } else {
    w.Null();
  }
  flag("attention_bias", false);
  flag("mlp_bias", false);
  flag("tie_word_embeddings", c.tie_word_embeddings);
  w.Key("eos_token_id");
  w.StartArray();
  for (const auto id : c.eos_token_ids)
    w.Int(id);
  w.EndArray();
  text("torch_dtype", "bfloat16");
  w.EndObject();
  return write_text_file(file, std::string{buffer.GetString(), buffer.GetSize()} + "\n");
}

} // namespace tinkaf::model

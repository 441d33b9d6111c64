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

float positive(JsonFields& fields, const char* name, float otherwise) {
  const auto x = static_cast<float>(fields.number(name, otherwise));
  if (x > 0.0F && std::isfinite(x))
    return x;
  fields.bad(name, "must be a number above 0");
  return otherwise;
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
  if (fields.text("model_type") != "llama")
    fields.bad("model_type", "must be \"llama\"");
  if (const auto act = fields.text("hidden_act"); !act.empty() && act != "silu")
    fields.bad("hidden_act", "must be \"silu\"");
  for (const char* unsupported : {"attention_bias", "mlp_bias"})
    if (fields.flag(unsupported))
      fields.bad(unsupported, "only false is supported");
  if (fields.present("rope_scaling"))
    fields.bad("rope_scaling", "only null is supported");
  c.vocab_size = size(fields, "vocab_size");
  c.hidden_size = size(fields, "hidden_size");
  c.intermediate_size = size(fields, "intermediate_size");
  c.num_hidden_layers = size(fields, "num_hidden_layers");
  c.num_attention_heads = size(fields, "num_attention_heads");
  c.num_key_value_heads
      = size(fields, "num_key_value_heads", static_cast<std::int64_t>(c.num_attention_heads));
  c.head_dim
      = size(fields, "head_dim", static_cast<std::int64_t>(c.hidden_size / c.num_attention_heads));
  c.max_position_embeddings = size(fields, "max_position_embeddings");
  c.rms_norm_eps = positive(fields, "rms_norm_eps", c.rms_norm_eps);
  c.rope_theta = positive(fields, "rope_theta", c.rope_theta);
  c.tie_word_embeddings = fields.flag("tie_word_embeddings");
  const auto last_token = static_cast<std::int64_t>(c.vocab_size) - 1;
  c.bos_token_id = static_cast<std::int32_t>(fields.integer("bos_token_id", 0, last_token, 0));
  c.eos_token_id = static_cast<std::int32_t>(fields.integer("eos_token_id", 0, last_token, 0));
  if (c.num_attention_heads % c.num_key_value_heads != 0)
    fields.bad("num_key_value_heads",
               fmt::format("must divide num_attention_heads, {}", c.num_attention_heads));
  if (c.head_dim == 0 || c.head_dim % 2 != 0)
    fields.bad("head_dim", "must be even and above 0");
  if (auto good = fields.check(); !good)
    return fail(good.error());
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
  const auto real = [&](const char* key, float value) {
    // The shortest text that reads back as the same float.
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
  w.String("LlamaForCausalLM");
  w.EndArray();
  text("model_type", "llama");
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
  w.Null();
  flag("attention_bias", false);
  flag("mlp_bias", false);
  flag("tie_word_embeddings", c.tie_word_embeddings);
  number("bos_token_id", static_cast<std::size_t>(c.bos_token_id));
  number("eos_token_id", static_cast<std::size_t>(c.eos_token_id));
  text("torch_dtype", "bfloat16");
  w.EndObject();
  return write_text_file(file, std::string{buffer.GetString(), buffer.GetSize()} + "\n");
}

} // namespace tinkaf::model

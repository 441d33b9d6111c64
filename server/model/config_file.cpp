// SPDX-License-Identifier: Apache-2.0
#include "server/model/config_file.hpp"

#include "server/model/atomic_file.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <limits>
#include <optional>
#include <string_view>

namespace tinkaf::model {

namespace {

using Json = rapidjson::Value;

/// Larger sizes are a damaged file; the bound also keeps products of two sizes from wrapping.
constexpr std::uint64_t largest_size = 1 << 24;

/// Reads fields and remembers the first fault.
class Fields {
public:
  Fields(const Json& object, std::string file) : object_(object), file_(std::move(file)) {}

  std::size_t size(const char* name, std::optional<std::size_t> otherwise = {}) {
    const auto* x = find(name);
    if (x == nullptr && otherwise)
      return *otherwise;
    if (x != nullptr && x->IsUint64() && x->GetUint64() > 0 && x->GetUint64() <= largest_size)
      return x->GetUint64();
    bad(name, fmt::format("must be an integer from 1 to {}", largest_size));
    return 1;
  }

  std::int32_t token(const char* name, std::size_t vocab_size) {
    const auto* x = find(name);
    if (x == nullptr)
      return 0;
    // Some models list several; the first is the one that they write themselves.
    const auto& first = x->IsArray() && x->Size() > 0 ? (*x)[0] : *x;
    if (first.IsUint64() && first.GetUint64() < vocab_size)
      return static_cast<std::int32_t>(first.GetUint64());
    bad(name, fmt::format("must be an integer from 0 to {}", vocab_size - 1));
    return 0;
  }

  float positive(const char* name, float otherwise) {
    const auto* x = find(name);
    if (x == nullptr)
      return otherwise;
    if (x->IsNumber() && x->GetDouble() > 0
        && x->GetDouble() < static_cast<double>(std::numeric_limits<float>::max()))
      return static_cast<float>(x->GetDouble());
    bad(name, "must be a number above 0");
    return otherwise;
  }

  bool flag(const char* name) {
    const auto* x = find(name);
    if (x == nullptr || x->IsBool())
      return x != nullptr && x->GetBool();
    bad(name, "must be true or false");
    return false;
  }

  std::string text(const char* name) {
    const auto* x = find(name);
    if (x == nullptr || x->IsString())
      return x == nullptr ? "" : std::string{x->GetString(), x->GetStringLength()};
    bad(name, "must be a string");
    return {};
  }

  bool present(const char* name) const {
    return find(name) != nullptr;
  }

  void bad(std::string_view name, std::string_view what) {
    if (!fault_)
      fault_ = fmt::format("{}: {}: {}", file_, name, what);
  }

  const std::optional<std::string>& fault() const {
    return fault_;
  }

private:
  const Json* find(const char* name) const {
    const auto found = object_.FindMember(name);
    return found == object_.MemberEnd() || found->value.IsNull() ? nullptr : &found->value;
  }

  const Json& object_;
  std::string file_;
  std::optional<std::string> fault_;
};

} // namespace

Result<ConfigFile> read_config(const std::filesystem::path& file) {
  const auto text = read_text_file(file);
  if (!text)
    return fail(text.error());
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(text->data(), text->size());
  if (document.HasParseError() || !document.IsObject())
    return fail(Errc::invalid_argument, fmt::format("{}: is not a JSON object", file.string()));

  Fields fields{document, file.string()};
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
  c.vocab_size = fields.size("vocab_size");
  c.hidden_size = fields.size("hidden_size");
  c.intermediate_size = fields.size("intermediate_size");
  c.num_hidden_layers = fields.size("num_hidden_layers");
  c.num_attention_heads = fields.size("num_attention_heads");
  c.num_key_value_heads = fields.size("num_key_value_heads", c.num_attention_heads);
  c.head_dim
      = fields.size("head_dim", std::max<std::size_t>(1, c.hidden_size / c.num_attention_heads));
  c.max_position_embeddings = fields.size("max_position_embeddings");
  c.rms_norm_eps = fields.positive("rms_norm_eps", c.rms_norm_eps);
  c.rope_theta = fields.positive("rope_theta", c.rope_theta);
  c.tie_word_embeddings = fields.flag("tie_word_embeddings");
  c.bos_token_id = fields.token("bos_token_id", c.vocab_size);
  c.eos_token_id = fields.token("eos_token_id", c.vocab_size);
  if (c.num_attention_heads % c.num_key_value_heads != 0)
    fields.bad("num_key_value_heads",
               fmt::format("must divide num_attention_heads, {}", c.num_attention_heads));
  if (c.head_dim % 2 != 0)
    fields.bad("head_dim", "must be even");
  if (fields.fault())
    return fail(Errc::invalid_argument, *fields.fault());
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

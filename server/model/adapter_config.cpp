// SPDX-License-Identifier: Apache-2.0
#include "server/model/adapter_config.hpp"

#include "server/model/atomic_file.hpp"
#include "server/model/json_fields.hpp"

#include <fmt/format.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace tinkaf::model {

namespace {

constexpr std::array attn_modules{"q_proj", "k_proj", "v_proj", "o_proj"};
constexpr std::array mlp_modules{"gate_proj", "up_proj", "down_proj"};
constexpr const char* unembed_module = "unembed_tokens";

/// Adapters for ranks above this would be larger than any base model here.
constexpr std::int64_t largest_rank = 1 << 14;

/// Whether the list names all of a group; naming a part of it is a fault.
bool take_group(JsonFields& fields, std::vector<std::string>& listed,
                std::span<const char* const> group) {
  const auto before = listed.size();
  for (const auto* name : group)
    std::erase(listed, name);
  const auto taken = before - listed.size();
  if (taken != 0 && taken != group.size())
    fields.bad("target_modules",
               fmt::format("must name all of {} or none", fmt::join(group, ", ")));
  return taken != 0;
}

} // namespace

Result<LoraConfig> read_adapter_config(const std::filesystem::path& file,
                                       const std::string& base_name) {
  auto read = JsonFields::read(file);
  if (!read)
    return fail(read.error());
  auto& fields = *read;
  LoraConfig out;
  if (fields.text("peft_type") != "LORA")
    fields.bad("peft_type", "must be \"LORA\"");
  if (const auto name = fields.text("base_model_name_or_path"); name != base_name)
    fields.bad("base_model_name_or_path",
               fmt::format("is \"{}\", but the model is \"{}\"", name, base_name));
  out.rank = static_cast<std::int32_t>(fields.integer("r", 1, largest_rank));
  if (fields.number("lora_alpha", 0.0) != lora_alpha)
    fields.bad("lora_alpha", fmt::format("only {} is supported", lora_alpha));
  for (const char* unsupported : {"use_rslora", "use_dora", "fan_in_fan_out"})
    if (fields.flag(unsupported))
      fields.bad(unsupported, "only false is supported");
  auto listed = fields.texts("target_modules");
  out.train_attn = take_group(fields, listed, attn_modules);
  out.train_mlp = take_group(fields, listed, mlp_modules);
  out.train_unembed
      = std::erase_if(listed,
                      [](const std::string& x) { return x == unembed_module || x == "lm_head"; })
        != 0;
  if (!listed.empty())
    fields.bad("target_modules", fmt::format("\"{}\" is not known", listed.front()));
  if (auto good = fields.check(); !good)
    return fail(good.error());
  if (auto good = validate(out); !good)
    return fail(Errc::invalid_argument, fmt::format("{}: {}", file.string(), good.error().message));
  return out;
}

Result<void> write_adapter_config(const std::filesystem::path& file, const LoraConfig& config,
                                  const std::string& base_name) {
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> w{buffer};
  const auto text = [&](const char* key, std::string_view value) {
    w.Key(key);
    w.String(value.data(), static_cast<rapidjson::SizeType>(value.size()));
  };
  const auto flag = [&](const char* key, bool value) {
    w.Key(key);
    w.Bool(value);
  };
  w.StartObject();
  text("peft_type", "LORA");
  text("task_type", "CAUSAL_LM");
  text("base_model_name_or_path", base_name);
  w.Key("r");
  w.Int(config.rank);
  w.Key("lora_alpha");
  w.Int(lora_alpha);
  w.Key("lora_dropout");
  w.Double(0.0);
  text("bias", "none");
  flag("fan_in_fan_out", false);
  flag("inference_mode", true);
  w.Key("target_modules");
  w.StartArray();
  if (config.train_attn)
    for (const auto* name : attn_modules)
      w.String(name);
  if (config.train_mlp)
    for (const auto* name : mlp_modules)
      w.String(name);
  if (config.train_unembed)
    w.String(unembed_module);
  w.EndArray();
  w.EndObject();
  return write_text_file(file, {buffer.GetString(), buffer.GetSize()});
}

} // namespace tinkaf::model

// SPDX-License-Identifier: Apache-2.0
#include "actors/weights_info.hpp"

#include <rapidjson/document.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace tinkaf {

std::string weights_info_json(std::string_view tinker_path) {
  rapidjson::StringBuffer out;
  rapidjson::Writer<rapidjson::StringBuffer> writer{out};
  writer.StartObject();
  writer.Key("tinker_path");
  writer.String(tinker_path.data(), static_cast<rapidjson::SizeType>(tinker_path.size()));
  writer.EndObject();
  return out.GetString();
}

Result<WeightsInfo> read_weights_info(std::string_view json) {
  rapidjson::Document document;
  document.Parse<rapidjson::kParseIterativeFlag>(json.data(), json.size());
  if (document.HasParseError() || !document.IsObject())
    return fail(Errc::protocol_error, "weights_info answer: not a JSON object");
  if (!document.HasMember("base_model") || !document["base_model"].IsString())
    return fail(Errc::protocol_error, "weights_info answer: `base_model` must be a text");
  if (!document.HasMember("lora_rank") || !document["lora_rank"].IsInt())
    return fail(Errc::protocol_error, "weights_info answer: `lora_rank` must be an integer");
  auto flag = [&](const char* name) {
    return !document.HasMember(name) || !document[name].IsBool() || document[name].GetBool();
  };
  return WeightsInfo{.base_model = document["base_model"].GetString(),
                     .lora_config = {.rank = document["lora_rank"].GetInt(),
                                     .train_unembed = flag("train_unembed"),
                                     .train_mlp = flag("train_mlp"),
                                     .train_attn = flag("train_attn")}};
}

} // namespace tinkaf

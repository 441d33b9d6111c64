// SPDX-License-Identifier: Apache-2.0
#include "actors/weights_info.hpp"

#include "api/wire/json_rest.hpp"

namespace tinkaf {

std::string weights_info_json(std::string_view tinker_path) {
  return wire::to_json(WeightsInfoRequest{std::string{tinker_path}});
}

Result<WeightsInfo> read_weights_info(std::string_view json) {
  auto info = wire::from_json<WeightsInfoResponse>(json);
  if (!info)
    return fail(std::move(info.error()));
  if (!info->is_lora || !info->lora_rank)
    return fail(Errc::protocol_error,
                "weights_info answer: the checkpoint is of no adapter, or `lora_rank` is missing");
  return WeightsInfo{.base_model = std::move(info->base_model),
                     .lora_config = {.rank = *info->lora_rank,
                                     .train_unembed = info->train_unembed.value_or(true),
                                     .train_mlp = info->train_mlp.value_or(true),
                                     .train_attn = info->train_attn.value_or(true)}};
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "server/model/losses.hpp"

#include "messages/loss_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

namespace tinkaf::model {

namespace {

constexpr std::array known_tensors{"target_tokens", "weights", "logprobs", "advantages"};

tl::unexpected<Error> bad(std::string message) {
  return fail(Errc::invalid_argument, std::move(message));
}

std::vector<std::int64_t> shape_of(const TensorData& tensor) {
  return tensor.shape ? *tensor.shape
                      : std::vector<std::int64_t>{static_cast<std::int64_t>(tensor.size())};
}

std::string text_of(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

/// The tensors of one datum, read by name.
class Tensors {
public:
  Tensors(const Datum& datum, std::string name) : datum_(datum), name_(std::move(name)) {}

  std::string field(std::string_view tensor) const {
    return fmt::format("{}.loss_fn_inputs.{}", name_, tensor);
  }

  /// The tensor, checked in itself; null if the datum does not have it.
  Result<const TensorData*> find(const char* tensor) const {
    const auto found = datum_.loss_fn_inputs.find(tensor);
    if (found == datum_.loss_fn_inputs.end())
      return nullptr;
    if (auto good = validate(found->second, field(tensor)); !good)
      return fail(good.error());
    return &found->second;
  }

  /// The floats of a tensor of the given shape; empty if the datum does not have it.
  Result<std::vector<float>> floats(const char* tensor,
                                    const std::vector<std::int64_t>& shape) const {
    const auto x = find(tensor);
    if (!x)
      return fail(x.error());
    if (*x == nullptr)
      return std::vector<float>{};
    if ((*x)->dtype() != DType::float32)
      return bad(fmt::format("{}: dtype is int64, must be float32", field(tensor)));
    if (shape_of(**x) != shape)
      return bad(fmt::format("{}: shape is {}, must be {}", field(tensor), text_of(shape_of(**x)),
                             text_of(shape)));
    return *to_dense(**x).floats();
  }

private:
  const Datum& datum_;
  std::string name_;
};

Result<void> read_targets(const Tensors& tensors, LossFn loss_fn, std::size_t vocab_size,
                          LossInputs& out) {
  const auto field = tensors.field("target_tokens");
  const auto x = tensors.find("target_tokens");
  if (!x)
    return fail(x.error());
  if (*x == nullptr)
    return bad(fmt::format("{}: is missing", field));
  if ((*x)->dtype() != DType::int64)
    return bad(fmt::format("{}: dtype is float32, must be int64", field));
  out.shape = shape_of(**x);
  const auto positions = static_cast<std::int64_t>(out.positions);
  const bool may_be_several = loss_fn == LossFn::cross_entropy;
  const bool several = may_be_several && out.shape.size() == 2 && out.shape[0] == positions
                       && out.shape[1] > 0 && out.shape[1] <= static_cast<std::int64_t>(vocab_size);
  if (!several && out.shape != std::vector{positions})
    return bad(fmt::format(
        "{}: shape is {}, must be [{}]{}", field, text_of(out.shape), positions,
        may_be_several ? fmt::format(" or [{}, K] with K up to {}", positions, vocab_size) : ""));
  out.per_position = several ? static_cast<std::size_t>(out.shape[1]) : 1;
  const auto dense = to_dense(**x);
  const auto* ids = dense.ints();
  out.targets.reserve(ids->size());
  for (std::size_t i = 0; i < ids->size(); ++i) {
    const auto id = (*ids)[i];
    if (id < 0 || id >= static_cast<std::int64_t>(vocab_size))
      return bad(fmt::format("{}[{}]: token {} is outside the vocabulary of {}", field, i, id,
                             vocab_size));
    out.targets.push_back(static_cast<std::int32_t>(id));
  }
  return {};
}

} // namespace

Result<LossSettings> loss_settings(LossFn loss_fn, const std::optional<LossFnConfig>& config) {
  LossSettings out;
  if (!config)
    return out;
  const auto keys = settings_of(loss_fn);
  for (const auto& [key, value] : *config) {
    const auto field = fmt::format("loss_fn_config.{}", key);
    if (key == "topk_logprobs") {
      if (!(value >= 0.0 && value <= static_cast<double>(most_topk_logprobs))
          || value != std::floor(value))
        return bad(fmt::format("{}: is {}, must be a whole number in [0, {}]", field, value,
                               most_topk_logprobs));
      out.topk_logprobs = static_cast<std::size_t>(value);
      continue;
    }
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return bad(keys.empty() ? fmt::format("{}: {} takes no settings", field, to_string(loss_fn))
                              : fmt::format("{}: unknown; {} takes {}", field, to_string(loss_fn),
                                            fmt::join(keys, ", ")));
    if (!std::isfinite(value) || value < 0.0)
      return bad(fmt::format("{}: is {}, must be a number from 0 on", field, value));
    (key == "beta"                 ? out.beta
     : key == "clip_low_threshold" ? out.clip_low_threshold
                                   : out.clip_high_threshold)
        = value;
  }
  if (out.clip_low_threshold > out.clip_high_threshold)
    return bad(fmt::format("loss_fn_config.clip_low_threshold: is {}, must not be above "
                           "clip_high_threshold, {}",
                           out.clip_low_threshold, out.clip_high_threshold));
  return out;
}

Result<LossInputs> read_loss_inputs(const Datum& datum, LossFn loss_fn, std::size_t positions,
                                    std::size_t vocab_size, const std::string& name) {
  const Tensors tensors{datum, name};
  for (const auto& entry : datum.loss_fn_inputs)
    if (std::find(known_tensors.begin(), known_tensors.end(), entry.first) == known_tensors.end())
      return bad(fmt::format("{}: unknown; the losses take {}", tensors.field(entry.first),
                             fmt::join(known_tensors, ", ")));
  LossInputs out;
  out.positions = positions;
  if (auto done = read_targets(tensors, loss_fn, vocab_size, out); !done)
    return fail(done.error());
  // What the loss does not use is checked all the same: it is a mistake of the client's.
  const std::vector per_token{static_cast<std::int64_t>(positions)};
  auto weights = tensors.floats("weights", out.shape);
  if (!weights)
    return fail(weights.error());
  auto logprobs = tensors.floats("logprobs", per_token);
  if (!logprobs)
    return fail(logprobs.error());
  auto advantages = tensors.floats("advantages", per_token);
  if (!advantages)
    return fail(advantages.error());
  out.weights = std::move(*weights);
  out.logprobs = std::move(*logprobs);
  out.advantages = std::move(*advantages);
  if (loss_fn == LossFn::cross_entropy) {
    if (out.weights.empty())
      out.weights.assign(out.targets.size(), 1.0F);
    return out;
  }
  for (const auto& [values, tensor] :
       {std::pair{&out.logprobs, "logprobs"}, std::pair{&out.advantages, "advantages"}})
    if (values->empty())
      return bad(
          fmt::format("{}: is missing; {} needs it", tensors.field(tensor), to_string(loss_fn)));
  return out;
}

TokenLoss token_loss(LossFn loss_fn, const LossSettings& settings, const LossInputs& inputs,
                     std::size_t index, double logprob) {
  if (loss_fn == LossFn::cross_entropy) {
    const double w = inputs.weights[index];
    return {-w * logprob, -w};
  }
  const double q = inputs.logprobs[index];
  const double advantage = inputs.advantages[index];
  if (loss_fn == LossFn::dro) {
    const double distance = logprob - q;
    return {-(advantage * logprob - 0.5 * settings.beta * distance * distance),
            -advantage + settings.beta * distance};
  }
  if (advantage == 0.0)
    return {}; // also where the ratio is infinite
  const double ratio = std::exp(logprob - q);
  const double clipped
      = std::clamp(ratio, settings.clip_low_threshold, settings.clip_high_threshold);
  if (loss_fn == LossFn::cispo)
    return {-clipped * logprob * advantage, -clipped * advantage};
  const double plain = ratio * advantage;
  if (loss_fn == LossFn::importance_sampling || plain <= clipped * advantage)
    return {-plain, -plain};
  return {-clipped * advantage, 0.0};
}

} // namespace tinkaf::model

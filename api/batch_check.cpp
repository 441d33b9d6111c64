// SPDX-License-Identifier: Apache-2.0
#include "api/batch_check.hpp"

#include "messages/loss_settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf {

namespace {

using Shape = std::vector<std::int64_t>;

// Defaults of the clipped losses, from the service's public documentation.
constexpr double default_clip_low = 0.8;
constexpr double default_clip_high = 1.2;

constexpr std::array known_tensors{"target_tokens",      "weights",
                                   "logprobs",           "advantages",
                                   "clip_low_threshold", "clip_high_threshold"};

/// Those with one entry for each token, whatever the shape of the targets.
constexpr std::array token_tensors{"logprobs", "advantages", "clip_low_threshold",
                                   "clip_high_threshold"};

tl::unexpected<Error> bad(std::string message) {
  return fail(Errc::invalid_argument, std::move(message));
}

Result<void> check_tokens(const std::vector<Token>& tokens, const std::string& where) {
  auto negative = std::find_if(tokens.begin(), tokens.end(), [](Token x) { return x < 0; });
  if (negative == tokens.end())
    return {};
  return bad(fmt::format("{}.tokens[{}] is {}, but a token id is at least 0", where,
                         negative - tokens.begin(), *negative));
}

Result<void> check_chunk(const ModelInputChunk& chunk, const std::string& where) {
  if (std::holds_alternative<ImageAssetPointerChunk>(chunk))
    return bad(where
               + " is an image_asset_pointer, which is for sampling only; give the image's "
                 "bytes as an image chunk");
  if (const auto* text = std::get_if<EncodedTextChunk>(&chunk))
    return check_tokens(text->tokens, where);
  const auto* image = std::get_if<ImageChunk>(&chunk);
  if (image != nullptr && image->expected_tokens && *image->expected_tokens < 0)
    return bad(fmt::format("{}.expected_tokens is {}, but must be at least 0", where,
                           *image->expected_tokens));
  return {};
}

Result<void> check_names(const Datum& datum, std::size_t index) {
  for (const auto& [name, tensor] : datum.loss_fn_inputs)
    if (std::find(known_tensors.begin(), known_tensors.end(), name) == known_tensors.end())
      return bad(fmt::format("data[{}].loss_fn_inputs.{} is not known: the losses take {}", index,
                             name, fmt::join(known_tensors, ", ")));
  return {};
}

/// The tokens of an input, once it is checked; nothing if an image does not tell its own.
Result<std::optional<std::int64_t>> check_input(const ModelInput& input, const std::string& where) {
  std::optional<std::int64_t> tokens = 0;
  for (std::size_t i = 0; i < input.chunks.size(); ++i) {
    const auto& chunk = input.chunks[i];
    auto name = fmt::format("{}.chunks[{}]", where, i);
    if (auto checked = check_chunk(chunk, name); !checked)
      return fail(std::move(checked.error()));
    const auto* image = std::get_if<ImageChunk>(&chunk);
    if (image != nullptr && !image->expected_tokens) {
      tokens.reset();
      continue;
    }
    auto part = length(chunk);
    if (!part)
      return bad(name + ": " + part.error().message);
    if (tokens)
      *tokens += *part;
  }
  if (tokens == 0)
    return bad(where + " is empty, but must have at least one token");
  return tokens;
}

/// The tensors of one datum, looked up by name.
class Tensors {
public:
  Tensors(const Datum& datum, std::size_t index) : datum_(datum), index_(index) {}

  [[nodiscard]] std::string field(std::string_view tensor) const {
    return fmt::format("data[{}].loss_fn_inputs.{}", index_, tensor);
  }

  [[nodiscard]] const TensorData* find(std::string_view tensor) const {
    auto found = datum_.loss_fn_inputs.find(std::string{tensor});
    return found == datum_.loss_fn_inputs.end() ? nullptr : &found->second;
  }

  [[nodiscard]] Result<const TensorData*> need(std::string_view tensor, LossFn loss_fn) const {
    const auto* found = find(tensor);
    if (found == nullptr)
      return bad(fmt::format("{} is missing; {} needs it", field(tensor), to_string(loss_fn)));
    return found;
  }

  [[nodiscard]] Result<void> check(std::string_view tensor, DType dtype, const Shape& shape) const {
    const auto* found = find(tensor);
    if (found == nullptr)
      return {};
    if (found->dtype() != dtype)
      return bad(fmt::format("{} is {}, but must be {}", field(tensor), to_string(found->dtype()),
                             to_string(dtype)));
    if (found->shape_or_vector() != shape)
      return bad(fmt::format("{} has shape {}, but must have {}", field(tensor),
                             found->shape_or_vector(), shape));
    return validate(*found, field(tensor));
  }

private:
  const Datum& datum_;
  std::size_t index_;
};

Result<void> check_ids(const TensorData& targets, const std::string& where) {
  constexpr std::int64_t largest = std::numeric_limits<Token>::max();
  const auto& ids = *targets.ints();
  auto wrong
      = std::find_if(ids.begin(), ids.end(), [](std::int64_t x) { return x < 0 || x > largest; });
  if (wrong == ids.end())
    return {};
  return bad(fmt::format("{}[{}] is {}, but a token id is in [0, {}]", where, wrong - ids.begin(),
                         *wrong, largest));
}

/// The shape of a datum's targets, once they are checked.
Result<Shape> check_targets(const Tensors& tensors, LossFn loss_fn,
                            const std::optional<std::int64_t>& tokens) {
  auto targets = tensors.need("target_tokens", loss_fn);
  if (!targets)
    return fail(std::move(targets.error()));
  auto where = tensors.field("target_tokens");
  auto shape = (*targets)->shape_or_vector();
  auto several = shape.size() == 2 && loss_fn == LossFn::cross_entropy;
  auto fits = (shape.size() == 1 || (several && shape[1] > 0)) && shape[0] > 0
              && (!tokens || shape[0] == *tokens);
  if (!fits) {
    auto length = tokens ? std::to_string(*tokens) : std::string{"tokens"};
    return bad(fmt::format("{} has shape {}, but must have [{}]{}, one entry for each token of the "
                           "input",
                           where, shape, length,
                           loss_fn == LossFn::cross_entropy ? " or [" + length + ", K]" : ""));
  }
  if (auto checked = tensors.check("target_tokens", DType::int64, shape); !checked)
    return fail(std::move(checked.error()));
  if (auto checked = check_ids(**targets, where); !checked)
    return fail(std::move(checked.error()));
  return shape;
}

/// Checks what all losses have in common; gives the shape of the targets.
Result<Shape> check_base(const Datum& datum, LossFn loss_fn, std::size_t index) {
  auto tokens = check_input(datum.model_input, fmt::format("data[{}].model_input", index));
  if (!tokens)
    return fail(std::move(tokens.error()));
  if (auto checked = check_names(datum, index); !checked)
    return fail(std::move(checked.error()));
  Tensors tensors{datum, index};
  auto shape = check_targets(tensors, loss_fn, *tokens);
  if (shape)
    if (auto checked = tensors.check("weights", DType::float32, *shape); !checked)
      return fail(std::move(checked.error()));
  return shape;
}

} // namespace

Result<void> check_loss_fn_config(LossFn loss_fn, const std::optional<LossFnConfig>& config) {
  if (!config)
    return {};
  auto known = settings_of(loss_fn);
  auto low = default_clip_low;
  auto high = default_clip_high;
  for (const auto& [key, value] : *config) {
    if (std::find(known.begin(), known.end(), key) == known.end())
      return bad(
          fmt::format("loss_fn_config.{} is not known: {} takes {}", key, to_string(loss_fn),
                      known.empty() ? "no settings" : fmt::format("{}", fmt::join(known, ", "))));
    if (!std::isfinite(value) || value < 0.0)
      return bad(
          fmt::format("loss_fn_config.{} is {}, but must be a number from 0 on", key, value));
    if (key == "clip_low_threshold")
      low = value;
    else if (key == "clip_high_threshold")
      high = value;
  }
  if (low > high)
    return bad(fmt::format("loss_fn_config.clip_low_threshold is {}, but must not be above "
                           "clip_high_threshold, {}",
                           low, high));
  return {};
}

Result<void> check_datum(const Datum& datum, LossFn loss_fn, std::size_t index) {
  auto shape = check_base(datum, loss_fn, index);
  if (!shape)
    return fail(std::move(shape.error()));
  Tensors tensors{datum, index};
  if (loss_fn != LossFn::cross_entropy)
    for (const auto* name : {"logprobs", "advantages"})
      if (auto found = tensors.need(name, loss_fn); !found)
        return fail(std::move(found.error()));
  // What the loss does not use is checked all the same: it is there by mistake.
  for (const auto* name : token_tensors)
    if (auto checked = tensors.check(name, DType::float32, Shape{shape->front()}); !checked)
      return checked;
  return {};
}

Result<void> check_custom_loss_datum(const Datum& datum, std::size_t index) {
  for (const auto& [name, tensor] : datum.loss_fn_inputs)
    if (name != "target_tokens" && name != "weights")
      return bad(fmt::format("data[{}].loss_fn_inputs.{} is not for a custom loss, whose data have "
                             "`target_tokens` and `weights` only; give the function what else it "
                             "needs",
                             index, name));
  if (auto shape = check_base(datum, LossFn::cross_entropy, index); !shape)
    return fail(std::move(shape.error()));
  return {};
}

Result<void> check_batch(const ForwardBackwardInput& input) {
  if (!input.data || input.data->empty())
    return bad("`data` is empty: a batch has at least one datum");
  if (auto checked = check_loss_fn_config(input.loss_fn, input.loss_fn_config); !checked)
    return checked;
  for (std::size_t i = 0; i < input.data->size(); ++i)
    if (auto checked = check_datum((*input.data)[i], input.loss_fn, i); !checked)
      return checked;
  return {};
}

} // namespace tinkaf

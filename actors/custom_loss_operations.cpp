// SPDX-License-Identifier: Apache-2.0
#include "actors/training_operations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <utility>

// The arithmetic of a custom loss.

namespace tinkaf::operations {

namespace {

constexpr auto targets_name = "target_tokens";
constexpr auto weights_name = "weights";

using Shape = std::vector<std::int64_t>;

TensorData zeros(const Shape& shape) {
  std::int64_t count = 1;
  for (auto length : shape)
    count *= length;
  return TensorData::of(std::vector<float>(static_cast<std::size_t>(count)), shape);
}

/// The targets' shape; every datum has targets once `check_custom_loss_datum` has passed it.
Result<Shape> target_shape(const Datum& datum, std::size_t index) {
  auto found = datum.loss_fn_inputs.find(targets_name);
  if (found == datum.loss_fn_inputs.end())
    return fail(Errc::invalid_argument,
                fmt::format("data[{}].loss_fn_inputs.{} is missing", index, targets_name));
  return found->second.shape_or_vector();
}

/// Gives a tensor that does not state its shape the one that it is to have.
Result<TensorData> with_shape(TensorData tensor, const Shape& shape, const std::string& what,
                              Errc code) {
  if (tensor.dtype() != DType::float32)
    return fail(code,
                fmt::format("{} is {}, but must be float32", what, to_string(tensor.dtype())));
  if (!tensor.shape && !tensor.sparse)
    tensor.shape = shape;
  else if (tensor.shape != shape)
    return fail(code, fmt::format("{} has shape {}, but must have {}, that of target_tokens", what,
                                  tensor.shape_or_vector(), shape));
  if (auto checked = validate(tensor, what); !checked) {
    checked.error().code = code;
    checked.error().category = default_category(code);
    return fail(std::move(checked.error()));
  }
  return tensor;
}

} // namespace

Batch forward_data_for_custom_loss(const Batch& data) {
  auto is_ready = [](const Datum& x) {
    return x.loss_fn_inputs.size() == 2 && x.loss_fn_inputs.contains(weights_name);
  };
  if (std::all_of(data->begin(), data->end(), is_ready))
    return data;
  std::vector<Datum> ready;
  ready.reserve(data->size());
  for (const auto& datum : *data) {
    const auto& inputs = datum.loss_fn_inputs;
    const auto& targets = inputs.at(targets_name);
    auto weights = inputs.find(weights_name);
    ready.push_back({.model_input = datum.model_input,
                     .loss_fn_inputs = {{targets_name, targets},
                                        {weights_name, weights != inputs.end()
                                                           ? weights->second
                                                           : zeros(targets.shape_or_vector())}}});
  }
  return make_batch(std::move(ready));
}

Result<std::vector<TensorData>> poll_forward_custom_loss(std::vector<FutureValue> parts,
                                                         const std::vector<Datum>& data) {
  auto output = combine_outputs(std::move(parts));
  if (!output)
    return fail(std::move(output.error()));
  if (output->loss_fn_outputs.size() != data.size())
    return fail(Errc::protocol_error,
                fmt::format("the forward pass of a custom loss has {} outputs for {} data",
                            output->loss_fn_outputs.size(), data.size()));
  std::vector<TensorData> logprobs;
  logprobs.reserve(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    auto found = output->loss_fn_outputs[i].find("logprobs");
    if (found == output->loss_fn_outputs[i].end())
      return fail(Errc::protocol_error, fmt::format("loss_fn_outputs[{}].logprobs is missing", i));
    auto shape = target_shape(data[i], i);
    if (!shape)
      return fail(std::move(shape.error()));
    auto tensor = with_shape(std::move(found->second), *shape,
                             fmt::format("loss_fn_outputs[{}].logprobs", i), Errc::protocol_error);
    if (!tensor)
      return fail(std::move(tensor.error()));
    logprobs.push_back(to_dense(*tensor));
  }
  return logprobs;
}

Result<Batch> build_linear_loss_data_safe(const std::vector<Datum>& data,
                                          const std::vector<TensorData>& gradients) {
  if (gradients.size() != data.size())
    return fail(Errc::invalid_argument,
                fmt::format("the custom loss has given {} gradients for {} data, but must give "
                            "one for each",
                            gradients.size(), data.size()));
  std::vector<Datum> linear;
  linear.reserve(data.size());
  for (std::size_t i = 0; i < data.size(); ++i) {
    auto shape = target_shape(data[i], i);
    if (!shape)
      return fail(std::move(shape.error()));
    auto weights = with_shape(gradients[i], *shape,
                              fmt::format("the custom loss's gradients[{}] (of data[{}])", i, i),
                              Errc::invalid_argument);
    if (!weights)
      return fail(std::move(weights.error()));
    for (auto& x : std::get<std::vector<float>>(weights->data))
      x = -x;
    linear.push_back({.model_input = data[i].model_input,
                      .loss_fn_inputs = {{targets_name, data[i].loss_fn_inputs.at(targets_name)},
                                         {weights_name, std::move(*weights)}}});
  }
  return make_batch(std::move(linear));
}

Result<HttpCall> send_backward_for_custom_loss(const BatchSlice& linear_data, std::int64_t seq_id,
                                               const Target& target) {
  return send_forward_backward_request(linear_data, {.data = linear_data.batch}, seq_id, target);
}

ForwardBackwardOutput merge_custom_metrics(ForwardBackwardOutput output, const Metrics& metrics) {
  for (const auto& [name, value] : metrics) {
    output.metrics.insert_or_assign(name, value);
    output.hashes.erase(name);
  }
  return output;
}

} // namespace tinkaf::operations

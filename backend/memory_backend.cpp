// SPDX-License-Identifier: Apache-2.0
#include "backend/memory_backend.hpp"

#include "api/batch_check.hpp"
#include "api/checkpoint_check.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace tinkaf {

namespace {

constexpr float logprob = -0.5F;

template <class T>
Future<T> ready(std::string what, Result<T> answer) {
  auto state = std::make_shared<FutureState<T>>(std::move(what));
  state->set(std::move(answer));
  return Future<T>{std::move(state)};
}

ForwardBackwardOutput output_of(const std::vector<Datum>& data) {
  ForwardBackwardOutput output;
  for (const auto& datum : data) {
    const auto& targets = datum.loss_fn_inputs.at("target_tokens");
    output.loss_fn_outputs.push_back(
        {{"logprobs",
          TensorData::of(std::vector<float>(targets.size(), logprob), targets.shape_or_vector())}});
  }
  return output;
}

Result<ForwardBackwardOutput> compute(const std::vector<Datum>& data, const CustomLossFn& loss) {
  auto output = output_of(data);
  std::vector<TensorData> logprobs;
  for (const auto& outputs : output.loss_fn_outputs)
    logprobs.push_back(outputs.at("logprobs"));
  try {
    auto value = loss({.data = data, .logprobs = logprobs, .stop = {}});
    if (!value)
      return fail(std::move(value.error()));
    output.metrics = std::move(value->metrics);
    output.metrics["custom_loss"] = value->loss;
    return output;
  } catch (const std::exception& broken) {
    return fail(Errc::invalid_argument, fmt::format("the custom loss threw: {}", broken.what()));
  } catch (...) {
    return fail(Errc::invalid_argument, "the custom loss threw something");
  }
}

class MemorySampler : public BackendSampler {
public:
  MemorySampler(std::string name, std::string model_path,
                std::shared_ptr<const std::vector<std::vector<Token>>> answers)
      : name_(std::move(name)), model_path_(std::move(model_path)), answers_(std::move(answers)) {}

  Future<SampleResponse> sample(SampleRequest request) override {
    if (auto valid = validate(request); !valid)
      return ready<SampleResponse>("sample", fail(std::move(valid.error())));
    SampleResponse response;
    for (std::int32_t i = 0; i < request.num_samples; ++i) {
      SampledSequence sequence{.stop_reason = StopReason::stop};
      if (!answers_->empty())
        sequence.tokens = (*answers_)[next_++ % answers_->size()];
      sequence.logprobs.emplace(sequence.tokens.size(), logprob);
      response.sequences.push_back(std::move(sequence));
    }
    return ready<SampleResponse>("sample", std::move(response));
  }

  Future<std::vector<std::optional<float>>> compute_logprobs(ModelInput prompt) override {
    using Logprobs = std::vector<std::optional<float>>;
    auto tokens = length(prompt);
    if (!tokens)
      return ready<Logprobs>("compute_logprobs", fail(std::move(tokens.error())));
    auto logprobs = Logprobs(static_cast<std::size_t>(*tokens), 0.0F);
    if (!logprobs.empty())
      logprobs.front().reset();
    return ready<Logprobs>("compute_logprobs", std::move(logprobs));
  }

  [[nodiscard]] const std::string& name() const noexcept override {
    return name_;
  }

  [[nodiscard]] const std::string& model_path() const noexcept override {
    return model_path_;
  }

private:
  std::string name_;
  std::string model_path_;
  std::shared_ptr<const std::vector<std::vector<Token>>> answers_;
  std::size_t next_ = 0;
};

} // namespace

MemoryBackend::MemoryBackend(std::optional<text::Tokenizer> tokenizer,
                             std::vector<std::vector<Token>> answers)
    : tokenizer_(std::move(tokenizer)),
      answers_(std::make_shared<const std::vector<std::vector<Token>>>(std::move(answers))) {}

Future<ForwardBackwardOutput> MemoryBackend::forward_backward(Batch data, LossFn loss_fn,
                                                              LossFnConfig loss_fn_config) {
  constexpr auto what = "forward_backward";
  auto config = loss_fn_config.empty() ? std::nullopt : std::optional{loss_fn_config};
  if (auto checked = check_batch({data, loss_fn, std::move(config)}); !checked)
    return ready<ForwardBackwardOutput>(what, fail(std::move(checked.error())));
  forward_backward_calls.push_back({data->size(), loss_fn, std::move(loss_fn_config)});
  return ready<ForwardBackwardOutput>(what, output_of(*data));
}

Future<ForwardBackwardOutput> MemoryBackend::forward_backward_custom(Batch data,
                                                                     CustomLossFn loss) {
  constexpr auto what = "forward_backward_custom";
  if (auto checked = check_batch({data}); !checked)
    return ready<ForwardBackwardOutput>(what, fail(std::move(checked.error())));
  custom_calls.push_back(data->size());
  return ready<ForwardBackwardOutput>(what, compute(*data, loss));
}

Future<OptimStepResponse> MemoryBackend::optim_step(const AdamParams& params) {
  if (auto valid = validate(params); !valid)
    return ready<OptimStepResponse>("optim_step", fail(std::move(valid.error())));
  optim_calls.push_back(params);
  return ready<OptimStepResponse>(
      "optim_step", OptimStepResponse{.metrics = {{"optim/lr", params.learning_rate}}});
}

Result<std::string> MemoryBackend::save_for_sampler(const std::string& name) {
  if (auto checked = check_checkpoint_name(name); !checked)
    return fail(std::move(checked.error()));
  sampler_saves.push_back(name);
  return "memory://sampler/" + name;
}

Result<std::string> MemoryBackend::save_full_state(const std::string& name) {
  if (auto checked = check_checkpoint_name(name); !checked)
    return fail(std::move(checked.error()));
  if (!states_.insert(name).second)
    return fail(Errc::conflict, fmt::format("there is a state of the name `{}` already", name));
  state_saves.push_back(name);
  return "memory://state/" + name;
}

Result<std::shared_ptr<BackendSampler>>
MemoryBackend::snapshot_sampling_client(const std::string& name) {
  auto label = labels_.label(name);
  auto path = save_for_sampler(label);
  if (!path)
    return fail(std::move(path.error()));
  return std::make_shared<MemorySampler>(std::move(label), std::move(*path), answers_);
}

Result<text::Tokenizer> MemoryBackend::get_tokenizer() const {
  if (tokenizer_)
    return *tokenizer_;
  return fail(Errc::not_found, "the backend was made without a tokenizer");
}

} // namespace tinkaf

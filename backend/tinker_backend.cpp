// SPDX-License-Identifier: Apache-2.0
#include "backend/tinker_backend.hpp"

#include <fmt/format.h>

#include <utility>

namespace tinkaf {

namespace {

/// A sampling client with the label and the path of its snapshot.
class TinkerSampler : public BackendSampler {
public:
  TinkerSampler(SamplingClient client, std::string name, std::string model_path)
      : client_(std::move(client)), name_(std::move(name)), model_path_(std::move(model_path)) {}

  Future<SampleResponse> sample(SampleRequest request) override {
    return client_.sample(std::move(request));
  }

  Future<std::vector<std::optional<float>>> compute_logprobs(ModelInput prompt) override {
    return client_.compute_logprobs(std::move(prompt));
  }

  [[nodiscard]] const std::string& name() const noexcept override {
    return name_;
  }

  [[nodiscard]] const std::string& model_path() const noexcept override {
    return model_path_;
  }

private:
  SamplingClient client_;
  std::string name_;
  std::string model_path_;
};

tl::unexpected<Error> without_path(const char* what, const std::string& name) {
  return fail(Errc::protocol_error, fmt::format("the result of {} `{}` has no path", what, name));
}

} // namespace

TinkerBackend::TinkerBackend(Service service, TrainingClient training_client,
                             std::string model_name, std::optional<text::Tokenizer> tokenizer)
    : service_(std::move(service)), training_client_(std::move(training_client)),
      model_name_(std::move(model_name)), tokenizer_(std::move(tokenizer)) {}

Future<ForwardBackwardOutput> TinkerBackend::forward_backward(Batch data, LossFn loss_fn,
                                                              LossFnConfig loss_fn_config) {
  auto config = std::optional<LossFnConfig>{};
  if (!loss_fn_config.empty())
    config = std::move(loss_fn_config);
  return training_client_.forward_backward(std::move(data), loss_fn, std::move(config));
}

Future<ForwardBackwardOutput> TinkerBackend::forward_backward_custom(Batch data,
                                                                     CustomLossFn loss) {
  return training_client_.forward_backward_custom(std::move(data), std::move(loss));
}

Future<OptimStepResponse> TinkerBackend::optim_step(const AdamParams& params) {
  return training_client_.optim_step(params);
}

Result<std::string> TinkerBackend::save_for_sampler(const std::string& name) {
  auto saved = training_client_.save_weights_for_sampler(name).get();
  if (!saved)
    return fail(std::move(saved.error()));
  if (!saved->path || saved->path->empty())
    return without_path("save_weights_for_sampler", name);
  return *saved->path;
}

Result<std::string> TinkerBackend::save_full_state(const std::string& name) {
  auto saved = training_client_.save_state(name).get();
  if (!saved)
    return fail(std::move(saved.error()));
  if (saved->path.empty())
    return without_path("save_state", name);
  return saved->path;
}

Result<std::shared_ptr<BackendSampler>>
TinkerBackend::snapshot_sampling_client(const std::string& name) {
  auto label = labels_.label(name);
  auto path = save_for_sampler(label);
  if (!path)
    return fail(std::move(path.error()));
  auto client = service_.create_sampling_client(
      CreateSamplingClient{.base_model = model_name_, .model_path = *path});
  if (!client)
    return fail(std::move(client.error()));
  return std::make_shared<TinkerSampler>(std::move(*client), std::move(label), std::move(*path));
}

Result<text::Tokenizer> TinkerBackend::get_tokenizer() const {
  if (tokenizer_)
    return *tokenizer_;
  return fail(Errc::not_found,
              fmt::format("the backend has no tokenizer of {}; set load_tokenizer", model_name_));
}

} // namespace tinkaf

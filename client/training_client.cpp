// SPDX-License-Identifier: Apache-2.0
#include "client/training_client.hpp"

#include "client/access.hpp"

namespace tinkaf {

TrainingClient::TrainingClient(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Future<ForwardBackwardOutput>
TrainingClient::forward_backward(Batch data, LossFn loss_fn,
                                 std::optional<LossFnConfig> loss_fn_config) const {
  return impl_->runtime->ask<ForwardBackwardOutput>(
      "forward_backward", impl_->actor, atom::forward_backward_v,
      ForwardBackwardInput{std::move(data), loss_fn, std::move(loss_fn_config)});
}

Future<ForwardBackwardOutput>
TrainingClient::forward_backward(std::vector<Datum> data, LossFn loss_fn,
                                 std::optional<LossFnConfig> loss_fn_config) const {
  return forward_backward(make_batch(std::move(data)), loss_fn, std::move(loss_fn_config));
}

Future<ForwardBackwardOutput>
TrainingClient::forward(Batch data, LossFn loss_fn,
                        std::optional<LossFnConfig> loss_fn_config) const {
  return impl_->runtime->ask<ForwardBackwardOutput>(
      "forward", impl_->actor, atom::forward_v,
      ForwardBackwardInput{std::move(data), loss_fn, std::move(loss_fn_config)});
}

Future<ForwardBackwardOutput> TrainingClient::forward_backward_custom(Batch data,
                                                                      CustomLossFn loss) const {
  return impl_->runtime->ask<ForwardBackwardOutput>("forward_backward_custom", impl_->actor,
                                                    atom::custom_loss_v, std::move(data),
                                                    std::move(loss));
}

Future<OptimStepResponse> TrainingClient::optim_step(const AdamParams& adam_params) const {
  return impl_->runtime->ask<OptimStepResponse>("optim_step", impl_->actor, adam_params);
}

Future<SaveWeightsResponse> TrainingClient::save_state(const std::string& name,
                                                       SaveWeightsOptions options) const {
  return impl_->runtime->ask<SaveWeightsResponse>("save_state", impl_->actor, atom::save_state_v,
                                                  name, options);
}

Future<LoadWeightsResponse> TrainingClient::load_state(const std::string& path) const {
  return impl_->runtime->ask<LoadWeightsResponse>("load_state", impl_->actor, atom::load_state_v,
                                                  path, false);
}

Future<LoadWeightsResponse>
TrainingClient::load_state_with_optimizer(const std::string& path) const {
  return impl_->runtime->ask<LoadWeightsResponse>("load_state_with_optimizer", impl_->actor,
                                                  atom::load_state_v, path, true);
}

Future<SaveWeightsForSamplerResponse>
TrainingClient::save_weights_for_sampler(const std::string& name,
                                         SaveWeightsOptions options) const {
  return impl_->runtime->ask<SaveWeightsForSamplerResponse>(
      "save_weights_for_sampler", impl_->actor, atom::save_for_sampler_v, name, options);
}

Result<SamplingClient> TrainingClient::save_weights_and_get_sampling_client() const {
  auto client = impl_->runtime
                    ->ask<SamplingClientActor>("save_weights_and_get_sampling_client", impl_->actor,
                                               atom::get_sampler_v)
                    .get();
  if (!client)
    return fail(std::move(client.error()));
  return ClientAccess::make<SamplingClient>({impl_->runtime, std::move(*client)});
}

Future<ModelInfo> TrainingClient::get_info() const {
  return impl_->runtime->ask<ModelInfo>("get_info", impl_->actor, atom::get_info_v);
}

Future<UnloadModelResponse> TrainingClient::unload() const {
  return impl_->runtime->ask<UnloadModelResponse>("unload", impl_->actor, atom::unload_v);
}

const std::string& TrainingClient::model_id() const noexcept {
  return impl_->model_id;
}

} // namespace tinkaf

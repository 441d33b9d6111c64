// SPDX-License-Identifier: Apache-2.0
#include "client/sampling_client.hpp"

#include "client/access.hpp"

namespace tinkaf {

SamplingClient::SamplingClient(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Future<SampleResponse> SamplingClient::sample(SampleRequest request) const {
  return impl_->runtime->ask<SampleResponse>("sample", impl_->actor, std::move(request));
}

Future<SampleResponse> SamplingClient::sample(ModelInput prompt, std::int32_t num_samples,
                                              SamplingParams sampling_params) const {
  return sample(SampleRequest{.prompt = std::move(prompt),
                              .num_samples = num_samples,
                              .sampling_params = std::move(sampling_params)});
}

Future<std::vector<std::optional<float>>>
SamplingClient::compute_logprobs(ModelInput prompt) const {
  return impl_->runtime->ask<PromptLogprobs>("compute_logprobs", impl_->actor,
                                             atom::compute_logprobs_v, std::move(prompt));
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "client/sampling_client.hpp"

#include "actors/sample_stream.hpp"
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

SampleStream SamplingClient::sample_stream(SampleSource source, std::size_t room) const {
  return sample_stream([source = std::move(source)](const std::stop_token&) { return source(); },
                       room);
}

SampleStream SamplingClient::sample_stream(StoppableSampleSource source, std::size_t room) const {
  auto& runtime = *impl_->runtime;
  SampleStreamActor stream;
  Runtime::apart([&] {
    stream = runtime.system().spawn(tinkaf::sample_stream, impl_->actor, std::move(source),
                                    runtime.source_threads(), room);
  });
  return SampleStream{
      std::make_shared<const SampleStream::Impl>(impl_->runtime, std::move(stream))};
}

Future<std::string> SamplingClient::get_base_model() const {
  return impl_->runtime->ask<std::string>("get_base_model", impl_->actor, atom::get_base_model_v);
}

} // namespace tinkaf

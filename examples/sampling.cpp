// SPDX-License-Identifier: Apache-2.0
//
// Ask a base model: what the service offers, some continuations, and how likely a text is.

#include "client/service.hpp"

#include <iostream>

#include "examples/example_service.hpp"

using namespace tinkaf;

namespace {

Result<void> print_models(const Service& service) {
  auto capabilities = service.get_server_capabilities().get();
  if (!capabilities)
    return fail(capabilities.error());
  for (const auto& model : capabilities->supported_models)
    std::cout << model.model_name << ", up to " << model.max_context_length.value_or(0)
              << " tokens\n";
  return {};
}

void print(const SampledSequence& sequence) {
  for (auto token : sequence.tokens)
    std::cout << token << ' ';
  std::cout << '(' << to_string(sequence.stop_reason) << ")\n";
}

Result<void> run(const examples::ExampleService& example) {
  auto service = Service::connect(example.options);
  if (!service)
    return fail(service.error());
  if (auto printed = print_models(*service); !printed)
    return printed;
  auto sampling = service->create_sampling_client(example.model);
  if (!sampling)
    return fail(sampling.error());

  auto prompt = ModelInput::from_ints({1, 40, 41, 42});
  SamplingParams params{.max_tokens = 8, .seed = 7, .temperature = 0.8, .top_p = 0.95};
  params.stop = std::vector<Token>{2};
  auto samples = sampling->sample(prompt, 3, params); // on its way
  auto logprobs = sampling->compute_logprobs(prompt); // side by side with it

  auto sampled = samples.get();
  if (!sampled)
    return fail(sampled.error());
  for (const auto& sequence : sampled->sequences)
    print(sequence);
  auto told = logprobs.get();
  if (!told)
    return fail(told.error());
  for (std::size_t i = 1; i < told->size(); ++i) // nothing comes before the first token
    std::cout << "token " << i << ": " << (*told)[i].value_or(0) << " nats\n";
  return {};
}

} // namespace

int main() {
  return examples::run_example(run);
}

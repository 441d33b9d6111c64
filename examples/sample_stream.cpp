// SPDX-License-Identifier: Apache-2.0
//
// Many samples, taken as they end, and what the calls have come to: counts, latencies, bytes.

#include "client/service.hpp"

#include <iostream>
#include <optional>

#include "examples/example_service.hpp"

using namespace tinkaf;

namespace {

Result<void> sample_all(const SamplingClient& sampling, std::int64_t count) {
  // Asked for a request whenever there is room, so it may read a file or go on for ever.
  auto next_prompt = [left = count]() mutable -> std::optional<SampleRequest> {
    if (left == 0)
      return std::nullopt;
    SamplingParams params;
    params.max_tokens = 8;
    params.seed = left--;
    return SampleRequest{.prompt = ModelInput::from_ints({1, 40, 41}), .sampling_params = params};
  };
  for (const auto& [index, sample] : sampling.sample_stream(next_prompt, 16)) {
    if (!sample)
      return fail(sample.error()); // the others would go on
    std::cout << "prompt " << index << ": " << sample->sequences.front().tokens.size()
              << " tokens\n";
  }
  return {};
}

Result<void> print_metrics(const Service& service) {
  auto metrics = service.metrics().get();
  if (!metrics)
    return fail(metrics.error());
  for (const auto& [endpoint, calls] : metrics->endpoints)
    std::cout << endpoint << ": " << calls.latency.count << " calls, half of them within "
              << calls.latency.p50.count() << " us, " << calls.retries << " retries, "
              << calls.bytes_out << " bytes sent\n";
  std::cout << metrics->polls << " polls\n";
  return {};
}

Result<void> run(const examples::ExampleService& example) {
  auto service = Service::connect(example.options);
  if (!service)
    return fail(service.error());
  auto sampling = service->create_sampling_client(example.model);
  if (!sampling)
    return fail(sampling.error());
  if (auto done = sample_all(*sampling, 40); !done)
    return done;
  return print_metrics(*service);
}

} // namespace

int main() {
  return examples::run_example(run);
}

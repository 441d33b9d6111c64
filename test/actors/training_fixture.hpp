// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/loss_threads.hpp"
#include "test/actors/scripted_service.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::test {

/// Threads of custom losses that run when the test says so.
class ManualLossThreads : public LossThreads {
public:
  Result<void> run(std::function<void()> job) override {
    if (refuses)
      return fail(Errc::internal, "no thread left");
    jobs.push_back(std::move(job));
    return {};
  }

  /// Runs the oldest job.
  void run_one() {
    REQUIRE_FALSE(jobs.empty());
    auto job = std::move(jobs.front());
    jobs.pop_front();
    job();
  }

  std::deque<std::function<void()>> jobs;
  bool refuses = false;
};

/// A training client over a scripted service that takes JSON.
struct TrainingFixture : ServiceFixture {
  TrainingFixture() {
    settings.options.wire_format = WireFormat::json;
    settings.loss_threads = threads;
  }

  TrainingClientActor open() {
    open_session();
    return make_training_client();
  }

  Answer<OptimStepResponse> optim_step(const TrainingClientActor& client) {
    auto answer = ask<OptimStepResponse>(client, AdamParams{});
    run();
    return answer;
  }

  Answer<ForwardBackwardOutput> forward_backward(const TrainingClientActor& client,
                                                 std::vector<Datum> data) {
    auto answer = ask<ForwardBackwardOutput>(client, atom::forward_backward_v,
                                             ForwardBackwardInput{make_batch(std::move(data))});
    run();
    return answer;
  }

  /// The numbers of the requests to an endpoint, in the order of sending.
  template <class Request>
  std::vector<std::int64_t> numbers(Endpoint endpoint) const {
    std::vector<std::int64_t> result;
    for (const auto& request : sent_to(endpoint))
      result.push_back(wire::from_json<Request>(*request.body).value().seq_id.value());
    return result;
  }

  std::shared_ptr<ManualLossThreads> threads = std::make_shared<ManualLossThreads>();
};

/// The result of a pass over data of these logprobs, as older services write it.
inline std::string pass_result(const std::vector<std::vector<float>>& logprobs,
                               Metrics metrics = {}) {
  ForwardBackwardOutput output{.loss_fn_output_type = "TensorOutput",
                               .metrics = std::move(metrics)};
  for (const auto& x : logprobs)
    output.loss_fn_outputs.push_back({{"logprobs", TensorData::of(x)}});
  return wire::to_json(output).value();
}

} // namespace tinkaf::test

// SPDX-License-Identifier: Apache-2.0
#include "engine/client_execute.hpp"

#include <utility>
#include <variant>

namespace tinkaf {

namespace {

template <class T>
AwaitAnswer await(Future<T> future) {
  return [future = std::move(future)]() -> Result<EngineAnswer> {
    auto answer = future.get();
    if (!answer)
      return fail(std::move(answer.error()));
    return std::move(*answer);
  };
}

struct Submitter {
  const TrainingClient& client;

  AwaitAnswer operator()(SubmitForwardBackward& request) const {
    return await(client.forward_backward(std::move(request.datums)));
  }

  AwaitAnswer operator()(SubmitCustom& request) const {
    return await(client.forward_backward_custom(std::move(request.datums), std::move(request.fn)));
  }

  AwaitAnswer operator()(SubmitForward& request) const {
    return await(client.forward(std::move(request.datums)));
  }

  AwaitAnswer operator()(const SubmitOptimStep& request) const {
    return await(client.optim_step(request.params));
  }

  AwaitAnswer operator()(const SubmitSamplerSave& request) const {
    return await(client.save_weights_for_sampler(request.name, request.options));
  }

  AwaitAnswer operator()(const SubmitStateSave& request) const {
    return await(client.save_state(request.name, request.options));
  }
};

class FacadeClient : public EngineClient {
public:
  explicit FacadeClient(TrainingClient client) : client_(std::move(client)) {}

  Result<AwaitAnswer> submit(EngineRequest request) override {
    return std::visit(Submitter{client_}, request);
  }

private:
  TrainingClient client_;
};

} // namespace

std::shared_ptr<EngineClient> engine_client(TrainingClient client) {
  return std::make_shared<FacadeClient>(std::move(client));
}

Execution execute(const TrainingClient& client, Schedule schedule, std::shared_ptr<SpendCap> cap) {
  return execute(engine_client(client), std::move(schedule), std::move(cap));
}

Execution execute(const TrainingClient& client, OpSource source, std::shared_ptr<SpendCap> cap) {
  return execute(engine_client(client), std::move(source), std::move(cap));
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
//
// Trains one step on a server in the same process, and uses all else that was installed; arguments:
// folder of the model, folder for state.

#include "client/service.hpp"
#include "server/server.hpp"

#include <iostream>

#include "every_target.hpp"

namespace {

tinkaf::Result<double> train(const tinkaf::ClientOptions& options) {
  auto service = tinkaf::Service::connect(options);
  if (!service)
    return tinkaf::fail(service.error());
  auto training = service->create_lora_training_client("tiny", {.rank = 8});
  if (!training)
    return tinkaf::fail(training.error());
  auto batch = tinkaf::make_batch({tinkaf::Datum{
      .model_input = tinkaf::ModelInput::from_ints({1, 40, 41}),
      .loss_fn_inputs
      = {{"target_tokens", tinkaf::TensorData::of(std::vector<std::int64_t>{40, 41, 42})},
         {"weights", tinkaf::TensorData::of(std::vector<float>{1, 1, 1})}}}});
  auto loss = training->forward_backward(batch);
  auto step = training->optim_step({.learning_rate = 1e-2});
  if (auto done = step.get(); !done)
    return tinkaf::fail(done.error());
  return loss.get().map([](const auto& result) { return result.metrics.at("loss:sum"); });
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 3)
    return 2;
  tinkaf::ServerOptions served;
  served.models = {{.name = "tiny", .dir = argv[1]}};
  served.state_dir = argv[2];
  auto server = tinkaf::Server::start(std::move(served));
  if (!server) {
    std::cerr << to_string(server.error()) << '\n';
    return 1;
  }
  tinkaf::ClientOptions options;
  options.base_url = (*server)->address();
  auto loss = train(options);
  if (!loss) {
    std::cerr << to_string(loss.error()) << '\n';
    return 1;
  }
  std::cout << "loss " << *loss << '\n';
  auto used = use_every_target(options, argv[1], std::string{argv[2]} + "-run");
  if (!used)
    std::cerr << to_string(used.error()) << '\n';
  return used ? 0 : 1;
}

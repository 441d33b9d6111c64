// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/server/server_fixture.hpp"

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace tinkaf::test {

/// A server that can be killed: what is on disk at a moment is what a killed one leaves, so another
/// server starts on a copy of it.
struct RestartFixture : ServerFixture {
  RestartFixture() {
    options.clock
        = [this] { return std::chrono::system_clock::from_time_t(1'900'000'000) + passed.load(); };
    restart();
    api = client();
    session = api.session();
    model = api.model(session);
  }

  /// Kills the server and starts another with a trainer that knows nothing.
  void kill() {
    copy_state();
    start();
  }

  /// Copies what is on disk, once more where the server takes something away meanwhile.
  void copy_state() {
    std::error_code gone;
    do {
      copy = folder.path() / ("state" + std::to_string(++copies));
      std::filesystem::copy(options.state_dir, copy, std::filesystem::copy_options::recursive,
                            gone);
    } while (gone == std::errc::no_such_file_or_directory);
    if (gone)
      throw std::filesystem::filesystem_error{"cannot copy", options.state_dir, gone};
  }

  /// Starts another server on the copy.
  void start() {
    trainer->release();
    server.reset();
    options.state_dir = copy;
    trainer = std::make_shared<ScriptedTrainer>();
    restart();
    api = client();
  }

  std::string poll(const std::string& request_id) {
    return api.post("retrieve_future", ApiClient::poll_body(request_id)).body;
  }

  /// Learns a token and waits for that.
  void learn(std::int64_t seq_id, Token token) {
    (void)api.submit("forward_backward", pass(model, seq_id, token));
    (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                        api.submit("optim_step", step(model, seq_id + 1)));
  }

  /// Waits until what was done is in a stored state, where each operation is to be.
  void wait_for_state(std::int64_t seq_id) {
    (void)api.result<ForwardBackwardOutput>(RequestType::forward,
                                            api.submit("forward", pass(model, seq_id, 1, true)));
  }

  /// What the model has learned, found out by a sampler of that number.
  std::vector<Token> learned(std::int64_t seq_id, std::int64_t sampler) {
    const auto id
        = api.submit("save_weights_for_sampler",
                     wire::to_json(SaveWeightsForSamplerRequest{
                         .model_id = model, .seq_id = seq_id, .sampling_session_seq_id = sampler}));
    const auto saved
        = api.result<SaveWeightsForSamplerResponse>(RequestType::save_weights_for_sampler, id);
    auto tokens = api.result<SampleResponse>(
                         RequestType::sample,
                         api.submit("asample", sample(saved.sampling_session_id.value(), 0, 7)))
                      .sequences.at(0)
                      .tokens;
    tokens.pop_back(); // the seed
    return tokens;
  }

  [[nodiscard]] std::filesystem::path journal() const {
    return options.state_dir / "journal";
  }
  [[nodiscard]] std::filesystem::path model_log() const {
    return journal() / session / "train-0.log";
  }

  std::atomic<std::chrono::seconds> passed{std::chrono::seconds{0}};
  std::filesystem::path copy;
  int copies = 0;
  ApiClient api = client();
  std::string session;
  std::string model;
};

} // namespace tinkaf::test

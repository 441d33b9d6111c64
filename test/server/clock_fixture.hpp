// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/wire/json_rest.hpp"
#include "test/server/server_fixture.hpp"

#include <atomic>
#include <chrono>
#include <string>

namespace tinkaf::test {

/// A server whose time of day the test moves, with one model.
struct ClockFixture : ServerFixture {
  ClockFixture() {
    options.clock
        = [this] { return std::chrono::system_clock::from_time_t(1'900'000'000) + passed.load(); };
    begin();
  }

  /// Starts the server anew, with a session and a model in it.
  void begin() {
    restart();
    api = client();
    session = api.session();
    model = api.model(session);
  }

  void wait(std::chrono::seconds time) {
    passed = passed.load() + time;
  }

  static std::string check(const HttpAnswer& answer, int status) {
    INFO(answer.body);
    CHECK(answer.status == status);
    return answer.body;
  }

  /// The text of an error, which must be the user's.
  static std::string refusal(const HttpAnswer& answer, int status) {
    const std::string before = R"({"category":"user","detail":")";
    INFO(answer.body);
    CHECK(answer.status == status);
    REQUIRE(answer.body.starts_with(before));
    return answer.body.substr(before.size(), answer.body.size() - before.size() - 2);
  }

  std::string save(const std::string& name, std::optional<std::int64_t> ttl = {},
                   bool overwrite = false) {
    const auto id = api.submit(
        "save_weights",
        wire::to_json(SaveWeightsRequest{
            .model_id = model, .path = name, .ttl_seconds = ttl, .overwrite = overwrite}));
    return api.result<SaveWeightsResponse>(RequestType::save_weights, id).path;
  }

  std::string save_sampler(const std::string& name, std::optional<std::int64_t> ttl = {}) {
    const auto id = api.submit("save_weights_for_sampler",
                               wire::to_json(SaveWeightsForSamplerRequest{
                                   .model_id = model, .path = name, .ttl_seconds = ttl}));
    return api.result<SaveWeightsForSamplerResponse>(RequestType::save_weights_for_sampler, id)
        .path.value();
  }

  void learn(Token token) {
    (void)api.submit("forward_backward", pass(model, {}, token));
    (void)api.result<OptimStepResponse>(RequestType::optim_step,
                                        api.submit("optim_step", step(model, {})));
  }

  template <class T>
  T read(const std::string& call) {
    auto out = wire::from_json<T>(check(api.get(call), 200));
    REQUIRE(out.has_value());
    return std::move(*out);
  }

  /// Of a checkpoint of the model.
  std::string at(const std::string& checkpoint) const {
    return "training_runs/" + model + "/checkpoints/" + checkpoint;
  }

  std::atomic<std::chrono::seconds> passed{std::chrono::seconds{0}};
  ApiClient api = client();
  std::string session;
  std::string model;
};

} // namespace tinkaf::test

// SPDX-License-Identifier: Apache-2.0
#include "api/wire/compression.hpp"
#include "api/wire/protobuf.hpp"
#include "server/model/random_model.hpp"
#include "test/server/server_fixture.hpp"

using namespace tinkaf;
using namespace tinkaf::test;

// A small transformer with random weights, trained and sampled over HTTP.

namespace {

struct Fixture {
  Fixture() {
    REQUIRE(model::write_random_model(folder.path() / "model"));
    options.state_dir = folder.path() / "state";
    options.models = {{.name = "tiny", .dir = folder.path() / "model"}};
    options.threads = 2;
    restart();
  }

  void restart() {
    server.reset();
    auto started = Server::start(options);
    REQUIRE(started.has_value());
    server = std::move(*started);
  }

  TempFolder folder;
  ServerOptions options;
  std::unique_ptr<Server> server;
};

Batch batch() {
  std::vector<Datum> data;
  for (Token first : {10, 20, 30})
    data.push_back(
        {.model_input = ModelInput::from_ints({first, 40, 41}),
         .loss_fn_inputs
         = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, first + 5})},
            {"weights", TensorData::of(std::vector<float>{1, 1, 1})}}});
  return make_batch(std::move(data));
}

ForwardBackwardRequest pass_over(const std::string& model, std::int64_t seq_id, bool forward) {
  return {.model_id = model,
          .seq_id = seq_id,
          .data = BatchSlice::whole(batch()),
          .forward_only = forward};
}

double loss(ApiClient& api, const std::string& model, std::int64_t seq_id, bool forward = false) {
  const auto id = api.submit(forward ? "forward" : "forward_backward",
                             wire::to_json(pass_over(model, seq_id, forward)).value());
  return api.result<ForwardBackwardOutput>(RequestType::forward_backward, id)
      .metrics.at("loss:sum");
}

void update(ApiClient& api, const std::string& model, std::int64_t seq_id) {
  const auto id = api.submit("optim_step",
                             wire::to_json(OptimStepRequest{.model_id = model,
                                                            .seq_id = seq_id,
                                                            .adam_params = {.learning_rate = 1e-2}})
                                 .value());
  (void)api.result<OptimStepResponse>(RequestType::optim_step, id);
}

} // namespace

TEST_CASE_METHOD(Fixture, "A model learns, is saved, resumed by another server, and sampled",
                 "[server][end-to-end]") {
  ApiClient api{*server};
  auto model = api.model(api.session(), 0, "tiny");
  const auto first = loss(api, model, 1);
  CHECK(loss(api, model, 2, true) == Catch::Approx(first)); // leaves no trace
  std::int64_t seq_id = 3;
  update(api, model, seq_id++);
  for (int i = 0; i < 20; ++i) {
    (void)loss(api, model, seq_id++);
    update(api, model, seq_id++);
  }
  const auto last = loss(api, model, seq_id++, true);
  CHECK(last < 0.5 * first);

  const auto saved = api.result<SaveWeightsResponse>(
      RequestType::save_weights,
      api.submit("save_weights", wire::to_json(SaveWeightsRequest{
                                     .model_id = model, .seq_id = seq_id, .path = "end"})));
  const auto sampler = api.result<SaveWeightsForSamplerResponse>(
      RequestType::save_weights_for_sampler,
      api.submit("save_weights_for_sampler",
                 wire::to_json(SaveWeightsForSamplerRequest{
                     .model_id = model, .seq_id = seq_id + 1, .path = "end"})));
  const auto expected = [&] {
    (void)loss(api, model, seq_id + 2);
    update(api, model, seq_id + 3);
    return loss(api, model, seq_id + 4, true);
  }();

  restart();
  ApiClient later{*server};
  model = later.model(later.session(), 0, "tiny");
  (void)later.result<LoadWeightsResponse>(
      RequestType::load_weights,
      later.submit("load_weights",
                   wire::to_json(LoadWeightsRequest{
                       .model_id = model, .seq_id = 1, .path = saved.path, .optimizer = true})));
  CHECK(loss(later, model, 2, true) == last);
  (void)loss(later, model, 3);
  update(later, model, 4);
  CHECK(loss(later, model, 5, true) == expected);

  // Without the optimizer's state the weights are the same, but the next step is another one.
  const auto fresh = later.model(later.session(), 0, "tiny");
  (void)later.result<LoadWeightsResponse>(
      RequestType::load_weights,
      later.submit("load_weights",
                   wire::to_json(LoadWeightsRequest{
                       .model_id = fresh, .seq_id = 1, .path = saved.path, .optimizer = false})));
  CHECK(loss(later, fresh, 2, true) == last);
  (void)loss(later, fresh, 3);
  update(later, fresh, 4);
  CHECK(loss(later, fresh, 5, true) != expected);

  AsampleRequest request{.sample = {.prompt = ModelInput::from_ints({10, 40}),
                                    .sampling_params = {.max_tokens = 1, .temperature = 0}},
                         .model_path = sampler.path};
  auto drawn = later.result<SampleResponse>(
      RequestType::sample, later.submit("asample", wire::to_json(request).value()));
  CHECK(drawn.sequences.at(0).tokens == std::vector<Token>{41});
  request.model_path.reset();
  request.base_model = "tiny";
  drawn = later.result<SampleResponse>(RequestType::sample,
                                       later.submit("asample", wire::to_json(request).value()));
  CHECK(drawn.sequences.at(0).tokens.size() == 1);
}

TEST_CASE_METHOD(Fixture, "Binary and JSON bodies give the same numbers", "[server][end-to-end]") {
  ApiClient api{*server};
  const auto session = api.session();
  const auto one = api.model(session, 0, "tiny");
  const auto two = api.model(session, 1, "tiny"); // the same seed
  const auto json = loss(api, one, 1);
  const auto packed
      = wire::zstd_compress(wire::to_protobuf(pass_over(two, 1, false)).value()).value();
  const auto answer
      = api.http.call("POST", "/api/v1/forward_backward", packed,
                      {{"Content-Type", "application/x-protobuf"}, {"Content-Encoding", "zstd"}});
  REQUIRE(answer.status == 200);
  const auto id = wire::from_json<FutureRef>(answer.body).value().request_id;
  CHECK(api.result<ForwardBackwardOutput>(RequestType::forward_backward, id).metrics.at("loss:sum")
        == json);
}

TEST_CASE_METHOD(Fixture, "What the model cannot take is refused", "[server][end-to-end]") {
  ApiClient api{*server};
  const auto model = api.model(api.session(), 0, "tiny");
  auto request = pass_over(model, 1, false);
  auto data = *request.data.batch;
  data[1].model_input = ModelInput::from_ints(std::vector<Token>(100'000, 1));
  request.data = BatchSlice::whole(make_batch(std::move(data)));
  const auto answer = api.post("forward_backward", wire::to_json(request).value());
  CHECK(answer.status == 400);
  CHECK(answer.body.find("data[1]") != std::string::npos);
  CHECK(answer.body.find("100000") != std::string::npos);
  AsampleRequest sample{
      .sample = {.prompt = ModelInput::from_ints({1}), .sampling_params = {.max_tokens = 100'000}},
      .base_model = "tiny"};
  const auto refused = api.post("asample", wire::to_json(sample).value());
  CHECK(refused.status == 400);
  CHECK(refused.body.find("context window") != std::string::npos);
}

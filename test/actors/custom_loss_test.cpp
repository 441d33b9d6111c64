// SPDX-License-Identifier: Apache-2.0
#include "actors/custom_losses.hpp"
#include "test/actors/training_fixture.hpp"

#include <cmath>
#include <stdexcept>

using namespace tinkaf;

namespace {

using Floats = std::vector<float>;
using Numbers = std::vector<std::int64_t>;

Datum datum(std::vector<std::int64_t> targets) {
  return {.model_input = ModelInput::from_ints(std::vector<Token>(targets.size(), 7)),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(std::move(targets))}}};
}

/// C = Σ logprobs, so that each derivative is 1.
Result<CustomLossValue> sum_of_logprobs(const CustomLossInput& input) {
  CustomLossValue value;
  for (const auto& logprobs : input.logprobs) {
    for (auto x : *logprobs.floats())
      value.loss += x;
    value.gradients.push_back(TensorData::of(Floats(logprobs.size(), 1)));
  }
  value.metrics["custom_metric"] = 7;
  return value;
}

struct Fixture : test::TrainingFixture {
  test::Answer<ForwardBackwardOutput> custom(const TrainingClientActor& client,
                                             CustomLossFn loss = sum_of_logprobs,
                                             std::vector<Datum> data = {datum({1, 2})}) {
    auto answer = ask<ForwardBackwardOutput>(client, atom::custom_loss_v,
                                             make_batch(std::move(data)), std::move(loss));
    run();
    return answer;
  }

  void forward_done(const std::string& id = "forward") {
    accept(Endpoint::forward, id);
    finish(id, test::pass_result({{-1, -2}}));
  }

  void compute() {
    threads->run_one();
    run();
  }

  Numbers forwards() const {
    return numbers<ForwardBackwardRequest>(Endpoint::forward);
  }

  Numbers backwards() const {
    return numbers<ForwardBackwardRequest>(Endpoint::forward_backward);
  }

  Numbers steps() const {
    return numbers<OptimStepRequest>(Endpoint::optim_step);
  }

  /// What went wrong with a loss; the operation behind it then has the next number.
  Error failure(const TrainingClientActor& client, CustomLossFn loss) {
    auto answer = custom(client, std::move(loss));
    auto step = optim_step(client);
    forward_done();
    compute();
    REQUIRE(answer->has_value());
    REQUIRE_FALSE((*answer)->has_value());
    CHECK(backwards().empty());
    CHECK(steps() == Numbers{2});
    return (*answer)->error();
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "I3: a custom loss is a forward pass and a backward pass of its gradient",
                 "[actors][custom_loss]") {
  auto client = open();
  auto answer = custom(client);
  auto forward = sent_to(Endpoint::forward);
  REQUIRE(forward.size() == 1);
  auto first = wire::from_json<ForwardBackwardRequest>(*forward[0].body).value();
  CHECK(first.seq_id == 1);
  CHECK(first.loss_fn == LossFn::cross_entropy);
  CHECK(first.data.data()[0].loss_fn_inputs.at("weights") == TensorData::of(Floats{0, 0}));

  forward_done();
  CHECK(backwards().empty());
  compute();
  auto backward = sent_to(Endpoint::forward_backward);
  REQUIRE(backward.size() == 1);
  auto second = wire::from_json<ForwardBackwardRequest>(*backward[0].body).value();
  CHECK(second.seq_id == 2);
  CHECK(second.loss_fn == LossFn::cross_entropy);
  CHECK(second.data.data()[0].loss_fn_inputs.at("weights") == TensorData::of(Floats{-1, -1}));

  CHECK_FALSE(answer->has_value());
  accept(Endpoint::forward_backward, "backward");
  finish("backward", test::pass_result({{-1, -2}}, {{"loss:sum", -3}}));
  REQUIRE(answer->has_value());
  REQUIRE((*answer)->has_value());
  CHECK((*answer)->value().metrics
        == Metrics{{"loss:sum", -3}, {"custom_metric", 7}, {"custom_loss", -3}});
}

TEST_CASE_METHOD(Fixture, "An optimizer step behind a custom loss leaves behind its backward pass",
                 "[actors][custom_loss]") {
  auto client = open();
  auto loss = custom(client);
  auto step = optim_step(client);
  auto next = custom(client);
  CHECK(steps().empty());
  forward_done();
  CHECK(steps().empty());
  compute();
  CHECK(backwards() == Numbers{2});
  CHECK(steps().empty());
  accept(Endpoint::forward_backward, "backward");
  CHECK(steps() == Numbers{3}); // the result of the backward pass is not waited for
  CHECK_FALSE(loss->has_value());
  accept(Endpoint::optim_step, "step");
  CHECK(forwards() == Numbers{1, 4});
}

TEST_CASE_METHOD(Fixture, "BB2, BB4: both passes travel in parts, numbered when they leave",
                 "[actors][custom_loss]") {
  config.fwdbwd_max_chunk_len = 1;
  auto client = open();
  auto answer = custom(client, sum_of_logprobs, {datum({1}), datum({2})});
  accept(Endpoint::forward, "forward-2");
  accept(Endpoint::forward, "forward-1");
  finish("forward-2", test::pass_result({{-2}}));
  CHECK(threads->jobs.empty()); // P1, P2: both are polled, and both are needed
  finish("forward-1", test::pass_result({{-1}}));
  compute();
  CHECK(forwards() == Numbers{2, 1});
  accept(Endpoint::forward_backward, "backward-2");
  accept(Endpoint::forward_backward, "backward-1");
  CHECK(backwards() == Numbers{4, 3});
  finish("backward-2", test::pass_result({{-4}}));
  finish("backward-1", test::pass_result({{-3}}));
  REQUIRE(answer->has_value());
  const auto& outputs = (*answer)->value().loss_fn_outputs;
  REQUIRE(outputs.size() == 2);
  CHECK(outputs[0].at("logprobs") == TensorData::of(Floats{-3}));
  CHECK(outputs[1].at("logprobs") == TensorData::of(Floats{-4}));
}

TEST_CASE_METHOD(Fixture, "P3, P4: the first part that fails decides at once, and the lane goes on",
                 "[actors][custom_loss]") {
  config.fwdbwd_max_chunk_len = 1;
  auto client = open();
  auto answer = custom(client, sum_of_logprobs, {datum({1}), datum({2})});
  optim_step(client);
  accept(Endpoint::forward, "forward-2");
  accept(Endpoint::forward, "forward-1");
  finish("forward-2", R"({"error":"out of memory","category":"server"})");
  REQUIRE(answer->has_value());
  const auto& error = (*answer)->error();
  CHECK(error.code == Errc::request_failed);
  CHECK(error.message.find("out of memory (part 2 of 2") != std::string::npos);
  CHECK(error.request_id == "forward-2");
  CHECK(threads->jobs.empty());
  CHECK(steps() == Numbers{3});
}

TEST_CASE_METHOD(Fixture, "BB3: a backward part that is refused is told with those accepted",
                 "[actors][custom_loss]") {
  config.fwdbwd_max_chunk_len = 1;
  auto client = open();
  auto answer = custom(client, sum_of_logprobs, {datum({1}), datum({2})});
  accept(Endpoint::forward, "forward-2");
  accept(Endpoint::forward, "forward-1");
  finish("forward-2", test::pass_result({{-2}}));
  finish("forward-1", test::pass_result({{-1}}));
  compute();
  refuse(Endpoint::forward_backward, test::json(400, R"({"detail":"no"})"));
  accept(Endpoint::forward_backward, "backward-1");
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().parts == 2);
  CHECK((*answer)->error().accepted_parts == 1);
}

TEST_CASE_METHOD(Fixture, "I4: a function that throws fails its call and loses no number",
                 "[actors][custom_loss]") {
  auto client = open();
  auto error = failure(client, [](const CustomLossInput&) -> Result<CustomLossValue> {
    throw std::runtime_error{"log of zero"};
  });
  CHECK(error.code == Errc::invalid_argument);
  CHECK(error.category == ErrorCategory::user);
  CHECK(error.message.find("log of zero") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A function that throws what is no exception fails its call",
                 "[actors][custom_loss]") {
  auto client = open();
  auto error = failure(client, [](const CustomLossInput&) -> Result<CustomLossValue> { throw 7; });
  CHECK(error.code == Errc::invalid_argument);
}

TEST_CASE_METHOD(Fixture, "An error that the function returns is the answer",
                 "[actors][custom_loss]") {
  auto client = open();
  auto error = failure(client, [](const CustomLossInput&) -> Result<CustomLossValue> {
    return fail(Errc::io_error, "no reference model");
  });
  CHECK(error.code == Errc::io_error);
  CHECK(error.message == "the custom loss failed: no reference model");
}

TEST_CASE_METHOD(Fixture, "Gradients that do not fit are refused by their datum",
                 "[actors][custom_loss]") {
  auto client = open();
  auto gives = [](double loss, std::vector<TensorData> gradients) {
    return [=](const CustomLossInput&) -> Result<CustomLossValue> {
      return CustomLossValue{.loss = loss, .gradients = gradients};
    };
  };
  std::string wanted;
  CustomLossFn loss;
  SECTION("a length that is not the targets'") {
    loss = gives(0, {TensorData::of(Floats{1})});
    wanted = "(of data[0]) has shape [1], but must have [2]";
  }
  SECTION("a number that is not finite") {
    loss = gives(0, {TensorData::of(Floats{1, std::nanf("")})});
    wanted = "(of data[0])[1] is nan";
  }
  SECTION("none at all") {
    loss = gives(0, {});
    wanted = "0 gradients for 1 data";
  }
  SECTION("a loss that is not finite") {
    loss = gives(std::nan(""), {TensorData::of(Floats{1, 1})});
    wanted = "the custom loss is nan";
  }
  auto error = failure(client, loss);
  CHECK(error.code == Errc::invalid_argument);
  CHECK(error.message.find(wanted) != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A batch that is no good for a custom loss takes no number",
                 "[actors][custom_loss]") {
  auto client = open();
  auto empty = custom(client, sum_of_logprobs, {});
  auto bare = custom(client, sum_of_logprobs, {datum({1}), Datum{}});
  auto more = datum({1});
  more.loss_fn_inputs["advantages"] = TensorData::of(Floats{1});
  auto surplus = custom(client, sum_of_logprobs, {more});
  auto nothing = custom(client, nullptr);
  for (const auto& answer : {empty, bare, surplus, nothing}) {
    REQUIRE(answer->has_value());
    CHECK((*answer)->error().code == Errc::invalid_argument);
  }
  CHECK((*bare)->error().message.find("data[1]") != std::string::npos);
  CHECK((*surplus)->error().message.find("advantages is not for a custom loss")
        != std::string::npos);
  optim_step(client);
  CHECK(steps() == Numbers{1});
}

TEST_CASE_METHOD(Fixture, "A system without a thread left is an error, and the lane goes on",
                 "[actors][custom_loss]") {
  threads->refuses = true;
  auto client = open();
  auto answer = custom(client);
  optim_step(client);
  forward_done();
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::internal);
  CHECK(steps() == Numbers{2});
}

TEST_CASE_METHOD(Fixture,
                 "An asker that ends while its function runs stops it, and the lane goes on",
                 "[actors][custom_loss][shutdown]") {
  auto client = open();
  auto asker = make_asker();
  std::optional<std::stop_token> seen;
  CustomLossFn loss = [&seen](const CustomLossInput& input) {
    seen = input.stop;
    return sum_of_logprobs(input);
  };
  ask_as<ForwardBackwardOutput>(asker, client, atom::custom_loss_v, make_batch({datum({1, 2})}),
                                loss);
  run();
  auto step = optim_step(client);
  forward_done();
  CHECK(steps().empty());
  kill(asker);
  CHECK(steps() == Numbers{2});
  compute(); // what it gives now goes nowhere
  REQUIRE(seen.has_value());
  CHECK(seen->stop_requested());
  CHECK(backwards().empty());
  accept(Endpoint::optim_step, "step");
  finish("step", "{}");
  CHECK(step->has_value());
}

TEST_CASE_METHOD(Fixture, "An asker that ends before its loss begins leaves no trace",
                 "[actors][custom_loss][shutdown]") {
  auto client = open();
  auto first = optim_step(client);
  auto asker = make_asker();
  ask_as<ForwardBackwardOutput>(asker, client, atom::custom_loss_v, make_batch({datum({1, 2})}),
                                CustomLossFn{sum_of_logprobs});
  run();
  auto last = optim_step(client);
  kill(asker);
  accept(Endpoint::optim_step, "first");
  CHECK(forwards().empty());
  CHECK(steps() == Numbers{1, 2});
}

TEST_CASE_METHOD(Fixture, "A client that ends while the function runs answers and asks it to stop",
                 "[actors][custom_loss][shutdown]") {
  auto client = open();
  std::optional<std::stop_token> seen;
  auto answer = custom(client, [&seen](const CustomLossInput& input) {
    seen = input.stop;
    return sum_of_logprobs(input);
  });
  auto behind = optim_step(client);
  forward_done();
  kill(caf::actor_cast<caf::actor>(client));
  for (const auto* x : {&*answer})
    REQUIRE(x->has_value());
  CHECK((*answer)->error().code == Errc::cancelled);
  CHECK((*behind)->error().code == Errc::cancelled);
  compute();
  CHECK(seen->stop_requested());
}

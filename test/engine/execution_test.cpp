// SPDX-License-Identifier: Apache-2.0
#include "engine/execution.hpp"

#include "test/catch.hpp"
#include "test/engine/engine_data.hpp"
#include "test/engine/scripted_client.hpp"

#include <algorithm>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>

using namespace tinkaf;
using namespace std::chrono_literals;
using test::batch_of;

static_assert(std::ranges::input_range<Execution>);

namespace {

const Price price{.prefill = 1.0, .train = 2.0};

TrainOp step_of(std::size_t tokens, double lr = 1e-4) {
  return {.datums = batch_of({tokens}), .loss = CrossEntropy{}, .lr = lr};
}

SnapshotOp snapshot_of(std::string name, std::size_t eval = 0) {
  return {.name = std::move(name), .ttl = {}, .eval = eval > 0 ? batch_of({eval}) : Batch{}};
}

struct Fixture {
  std::shared_ptr<test::ScriptedClient> client = std::make_shared<test::ScriptedClient>();
  std::shared_ptr<SpendCap> cap;
  std::vector<OpResult> results;
  std::optional<Failure> failure;

  template <class Ops>
  void run(Ops ops) {
    for (auto& step : execute(client, std::move(ops), cap)) {
      if (step)
        results.push_back(*step);
      else
        failure = step.error();
    }
  }

  [[nodiscard]] std::size_t at(const std::string& event) const {
    const auto padded = " " + client->trace + " ";
    const auto found = padded.find(" " + event + " ");
    REQUIRE(found != std::string::npos);
    return found;
  }
};

/// An endless source of steps, which counts what is drawn.
OpSource endless(std::shared_ptr<int> drawn) {
  return [drawn]() -> Result<std::optional<Op>> {
    ++*drawn;
    return step_of(5);
  };
}

} // namespace

TEST_CASE_METHOD(Fixture, "Any schedule keeps its order and looks one step ahead",
                 "[engine][execution]") {
  std::mt19937 random{7};
  for (int trial = 0; trial < 50; ++trial) {
    client = std::make_shared<test::ScriptedClient>();
    results.clear();
    Schedule schedule;
    int steps = 0;
    for (auto left = random() % 30; left > 0; --left)
      switch (random() % 5) {
      case 0:
        schedule.emplace_back(ScoreOp{batch_of({1 + random() % 9})});
        break;
      case 1:
        schedule.emplace_back(snapshot_of("s" + std::to_string(left), random() % 4));
        break;
      default:
        ++steps;
        schedule.emplace_back(step_of(1 + random() % 9, 1e-4 * steps));
      }
    run(schedule);
    INFO(client->trace);
    CHECK_FALSE(failure.has_value());
    CHECK(client->queued() == 0);
    REQUIRE(results.size() == schedule.size());
    for (std::size_t i = 0; i < results.size(); ++i)
      CHECK(results[i].index() == schedule[i].index());
    for (int k = 1; k <= steps; ++k) {
      const auto number = std::to_string(k);
      CHECK(at("o" + number) < at("?fb" + number));
      if (k + 1 <= steps)
        CHECK(at("fb" + std::to_string(k + 1)) < at("?fb" + number));
      if (k + 2 <= steps)
        CHECK(at("fb" + std::to_string(k + 2)) > at("?fb" + number));
    }
    TokenPasses sent;
    double lr = 0.0;
    for (const auto& request : client->requests)
      if (const auto* step = std::get_if<SubmitForwardBackward>(&request))
        sent.train += token_count(*step->datums).value();
      else if (const auto* score = std::get_if<SubmitForward>(&request))
        sent.prefill += token_count(*score->datums).value();
      else if (const auto* optim = std::get_if<SubmitOptimStep>(&request))
        CHECK(optim->params.learning_rate == Catch::Approx(lr += 1e-4));
    CHECK(sent == token_passes(schedule).value());
  }
}

TEST_CASE_METHOD(Fixture, "Results carry their operations and what the service has answered",
                 "[engine][execution]") {
  const auto train = step_of(4);
  const auto score = ScoreOp{batch_of({3, 2})};
  auto snapshot = snapshot_of("run-step00001", 2);
  snapshot.ttl = 604'800s;
  run(Schedule{train, score, snapshot, snapshot_of("run-sft-2")});
  REQUIRE(results.size() == 4);
  const auto& trained = std::get<TrainDone>(results[0]);
  CHECK(trained.op.datums == train.datums);
  CHECK(*trained.output.loss_fn_outputs.at(0).at("logprobs").floats()
        == std::vector<float>(4, -0.5F));
  const auto& scored = std::get<ScoreDone>(results[1]);
  CHECK(scored.op.datums == score.datums);
  REQUIRE(scored.outputs.size() == 2);
  CHECK(scored.outputs[1].at("logprobs").size() == 2);
  const auto& saved = std::get<SnapshotDone>(results[2]);
  CHECK(saved.op.name == "run-step00001");
  CHECK(saved.sampler_path == "tinker://run/run-step00001");
  CHECK(saved.state_path == "tinker://run/state/run-step00001");
  REQUIRE(saved.outputs.has_value());
  CHECK(saved.outputs->at(0).at("logprobs").size() == 2);
  CHECK_FALSE(std::get<SnapshotDone>(results[3]).outputs.has_value());

  std::vector<std::pair<std::string, std::optional<std::chrono::seconds>>> sampler;
  auto states = sampler;
  for (const auto& request : client->requests)
    if (const auto* save = std::get_if<SubmitSamplerSave>(&request))
      sampler.emplace_back(save->name, save->options.ttl);
    else if (const auto* state = std::get_if<SubmitStateSave>(&request))
      states.emplace_back(state->name, state->options.ttl);
  CHECK(sampler == decltype(sampler){{"run-step00001", 604'800s}, {"run-sft-2", std::nullopt}});
  CHECK(states == sampler);
}

TEST_CASE_METHOD(Fixture, "A step's optimizer has the rate of the step and defaults otherwise",
                 "[engine][execution]") {
  run(Schedule{step_of(1, 1e-4), step_of(1, 2e-4), step_of(1, 0.0)});
  std::vector<AdamParams> sent;
  for (const auto& request : client->requests)
    if (const auto* optim = std::get_if<SubmitOptimStep>(&request))
      sent.push_back(optim->params);
  CHECK(sent
        == std::vector{AdamParams{.learning_rate = 1e-4}, AdamParams{.learning_rate = 2e-4},
                       AdamParams{.learning_rate = 0.0}});
}

TEST_CASE_METHOD(Fixture, "A custom loss goes by its own way with its own function",
                 "[engine][execution]") {
  run(Schedule{TrainOp{.datums = batch_of({2}), .loss = test::raise_all()}});
  CHECK(client->trace == "fc1 o1 ?fc1 ?o1");
  const auto& custom = std::get<SubmitCustom>(client->requests.at(0));
  const std::vector<TensorData> logprobs{TensorData::of(std::vector<float>{-1, -2})};
  CHECK(custom.fn({.data = *custom.datums, .logprobs = logprobs, .stop = {}})->loss == 1.0);
}

TEST_CASE_METHOD(Fixture, "A step whose optimizer step cannot be submitted is waited for unseen",
                 "[engine][execution][errors]") {
  client->refused = {{"o2", Errc::connection}};
  run(Schedule{step_of(1), step_of(1), step_of(1)});
  CHECK(client->trace == "fb1 o1 fb2 ! ?fb1 ?o1 ?fb2");
  CHECK(results.size() == 1);
  REQUIRE(failure.has_value());
  CHECK(failure->op == 1);
  CHECK(failure->error.message.find("o2 is refused") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A failure tells what went wrong behind it and what was not submitted",
                 "[engine][execution][errors]") {
  client->failing = {"fb1", "o2"};
  client->refused = {{"sv1", Errc::connection}};
  run(Schedule{step_of(1), step_of(1), snapshot_of("a")});
  REQUIRE(failure.has_value());
  CHECK_FALSE(failure->deferred.has_value()); // no room for it yet
  CHECK(failure->error.message.find("fb1 is out of luck") != std::string::npos);
  REQUIRE(failure->behind.size() == 1);
  CHECK(failure->behind[0].message == "schedule[1] (train): o2 is out of luck");

  client = std::make_shared<test::ScriptedClient>();
  client->failing = {"fb1"};
  client->refused = {{"sv1", Errc::connection}};
  run(Schedule{step_of(1), snapshot_of("a")});
  CHECK(failure->error.message.find("fb1 is out of luck") != std::string::npos);
  REQUIRE(failure->deferred.has_value());
  CHECK(failure->deferred->message.find("sv1 is refused") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A snapshot that cannot be scored tells where it was saved",
                 "[engine][execution][errors]") {
  client->failing = {"fw1"};
  run(Schedule{step_of(1), snapshot_of("a", 2), snapshot_of("b")});
  REQUIRE(failure.has_value());
  CHECK(failure->op == 1);
  CHECK(failure->in_flight == 1);
  CHECK(failure->saved
        == std::vector{SavedPaths{.name = "a",
                                  .sampler_path = "tinker://run/a",
                                  .state_path = "tinker://run/state/a"},
                       SavedPaths{.name = "b",
                                  .sampler_path = "tinker://run/b",
                                  .state_path = "tinker://run/state/b"}});
  CHECK(failure->error.message.find("state_path `tinker://run/state/a`") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A save whose path is not told is an error of the service",
                 "[engine][execution][errors]") {
  client->without_paths = true;
  run(Schedule{snapshot_of("a")});
  REQUIRE(failure.has_value());
  CHECK(failure->error.code == Errc::protocol_error);
  CHECK(failure->saved.at(0).state_path == "tinker://run/state/a");
}

TEST_CASE_METHOD(Fixture, "A submission that is cancelled ends the run at once",
                 "[engine][execution][errors]") {
  client->refused = {{"fb2", Errc::cancelled}};
  run(Schedule{step_of(1), step_of(1), step_of(1)});
  CHECK(client->trace == "fb1 o1 !");
  CHECK(results.empty());
  REQUIRE(failure.has_value());
  CHECK(failure->error.code == Errc::cancelled);
  CHECK(failure->in_flight == 1);

  client = std::make_shared<test::ScriptedClient>();
  client->refused = {{"sv1", Errc::cancelled}};
  run(Schedule{snapshot_of("a"), step_of(1)});
  CHECK(client->trace == "!");
}

TEST_CASE_METHOD(Fixture, "An endless schedule is drawn no further than it is read",
                 "[engine][execution]") {
  auto drawn = std::make_shared<int>(0);
  auto execution = execute(client, endless(drawn));
  CHECK(*drawn == 0);
  for (int i = 0; i < 10; ++i)
    REQUIRE(execution.next()->has_value());
  CHECK(*drawn == 11);
}

TEST_CASE_METHOD(Fixture, "A source that fails or throws ends a schedule behind what it has given",
                 "[engine][execution][errors]") {
  auto throws = GENERATE(true, false);
  run(OpSource{[throws, at = 0]() mutable -> Result<std::optional<Op>> {
    if (at++ < 1)
      return step_of(1);
    if (throws)
      throw std::runtime_error{"out of data"};
    return fail(Errc::io_error, "out of data");
  }});
  CHECK(results.size() == 1);
  REQUIRE(failure.has_value());
  CHECK(failure->op == 1);
  CHECK(failure->error.message.find("out of data") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "A bad operation of a source is told behind those before it",
                 "[engine][execution][errors]") {
  run(OpSource{[at = 0]() mutable -> Result<std::optional<Op>> {
    return at++ < 1 ? Op{snapshot_of("a")} : Op{snapshot_of("a")};
  }});
  CHECK(results.size() == 1);
  REQUIRE(failure.has_value());
  CHECK(failure->error.message.find("which schedule[0] has taken") != std::string::npos);
  CHECK(client->trace == "sv1 st1 ?sv1 ?st1");
}

TEST_CASE_METHOD(Fixture, "A schedule that cannot fit its cap is refused before anything is sent",
                 "[engine][execution][spend_cap]") {
  const Schedule schedule{step_of(5), snapshot_of("a", 4), step_of(5)};
  SECTION("by a token") {
    cap = SpendCap::make(cost(token_passes(schedule).value(), price) * 0.999, price).value();
    run(schedule);
  }
  SECTION("that is zero") {
    cap = SpendCap::make(0.0, price).value();
    run(schedule);
  }
  CHECK(client->trace.empty());
  CHECK(results.empty());
  REQUIRE(failure.has_value());
  CHECK(failure->error.message.find("spend cap") != std::string::npos);
  CHECK(cap->spent() == 0.0);
  CHECK(cap->reserved() == 0.0);
}

TEST_CASE_METHOD(Fixture, "What is projected is spent, to the bit, as results are handed out",
                 "[engine][execution][spend_cap]") {
  const Schedule schedule{step_of(7), snapshot_of("a", 3), step_of(5), ScoreOp{batch_of({2})}};
  const auto projected = projection(schedule, price).value();
  cap = SpendCap::make(projected, price).value();
  auto execution = execute(client, schedule, cap);
  REQUIRE(execution.next()->has_value());
  CHECK(cap->spent() == cost({.train = 7}, price));
  CHECK(cap->reserved() == cost({.train = 5, .prefill = 3}, price));
  while (execution.next()) {
  }
  CHECK(cap->spent() == projected);
  CHECK(cap->reserved() == 0.0);
}

TEST_CASE_METHOD(Fixture, "An endless schedule ends at its cap, with all that was paid handed out",
                 "[engine][execution][spend_cap]") {
  cap = SpendCap::make(cost({.train = 17}, price), price).value();
  run(endless(std::make_shared<int>(0)));
  CHECK(results.size() == 3); // five tokens each
  REQUIRE(failure.has_value());
  CHECK(failure->op == 3);
  CHECK(failure->error.message.find("schedule[3] (train) is not submitted") == 0);
  CHECK(cap->spent() == cost({.train = 15}, price));
  CHECK(cap->reserved() == 0.0);
}

TEST_CASE_METHOD(Fixture,
                 "What was submitted is spent although it fails or is left, what was not "
                 "is free again",
                 "[engine][execution][spend_cap]") {
  cap = SpendCap::make(1.0, price).value();
  SECTION("a step fails") {
    client->failing = {"fb1"};
    run(Schedule{step_of(1), step_of(2), step_of(4)});
    CHECK(cap->spent() == cost({.train = 3}, price));
  }
  SECTION("a step cannot be submitted") {
    client->refused = {{"fb2", Errc::connection}};
    run(Schedule{step_of(1), step_of(2)});
    CHECK(cap->spent() == cost({.train = 1}, price));
  }
  SECTION("the reader stops") {
    auto execution = execute(client, Schedule{step_of(1), step_of(2), step_of(4)}, cap);
    REQUIRE(execution.next()->has_value());
    { auto dropped = std::move(execution); }
    CHECK(cap->spent() == cost({.train = 3}, price));
  }
  CHECK(cap->reserved() == 0.0);
}

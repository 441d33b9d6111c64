// SPDX-License-Identifier: Apache-2.0
#include "backend/training_loop.hpp"

#include "test/catch.hpp"
#include "test/engine/engine_data.hpp"
#include "test/train/temp_folder.hpp"

#include <fstream>
#include <set>
#include <stdexcept>

#include "backend/memory_backend.hpp"

using namespace tinkaf;

namespace {

using Names = std::vector<std::string>;

class Builder : public StepBuilder {
public:
  StepBatch batch{.datums = test::batch_of({2, 3})};
  std::set<std::int64_t> empty;
  bool broken_metrics = false;

  Result<StepBatch> build(std::int64_t step) override {
    auto result = batch;
    if (empty.contains(step))
      result.datums = {};
    return result;
  }

  Result<Metrics> step_metrics(const StepBatch&, const ForwardBackwardOutput& output) override {
    if (broken_metrics)
      throw std::runtime_error{"cannot measure"};
    return Metrics{{"outputs", static_cast<double>(output.loss_fn_outputs.size())},
                   {"optim/lr", -1.0},
                   {"mine", -1.0}};
  }
};

struct Fixture {
  test::TempFolder temp;
  MemoryBackend backend;
  Builder builder;
  LoopSettings settings{
      .run_dir = temp.path() / "run",
      .callbacks
      = {.on_step_end = [this](std::int64_t, const Metrics& row) { rows.push_back(row); }},
      .notices = [this](const Notice& x) { notices.push_back(x.text); }};
  std::vector<Metrics> rows;
  Names notices;

  LoopOutcome run(std::int64_t steps, std::int64_t start = 0) {
    auto outcome = run_training_loop(backend, builder, settings, steps, start);
    if (!outcome)
      FAIL(outcome.error().message);
    return *outcome;
  }

  std::string error(std::int64_t steps, std::int64_t start = 0) {
    auto outcome = run_training_loop(backend, builder, settings, steps, start);
    REQUIRE_FALSE(outcome.has_value());
    return outcome.error().message;
  }

  static Names names(const LoopOutcome& outcome) {
    Names result;
    for (const auto& row : outcome.checkpoints)
      result.push_back(row.name);
    return result;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "Checkpoints come as often as asked for, and one at the end",
                 "[backend][loop]") {
  const auto [steps, every, expected]
      = GENERATE(std::tuple{10, 3, Names{"step_3", "step_6", "step_9", "final"}},
                 std::tuple{10, 0, Names{"final"}}, std::tuple{1, 1, Names{"step_1", "final"}},
                 std::tuple{4, 2, Names{"step_2", "step_4", "final"}});
  settings.save_every = every;
  const auto outcome = run(steps);
  CHECK(names(outcome) == expected);
  for (const auto& row : outcome.checkpoints) {
    CHECK(row.state_path == "memory://state/" + row.name);
    CHECK(row.sampler_path == "memory://sampler/" + row.name);
  }
  CHECK(outcome.total_steps == steps);
  CHECK(backend.optim_calls.size() == static_cast<std::size_t>(steps));
  CHECK(read_checkpoints(outcome.manifest) == outcome.checkpoints);
  CHECK(outcome.flat().at("state-final") == "memory://state/final");
  CHECK(outcome.flat().at("checkpoint-final") == "memory://sampler/final");
}

TEST_CASE_METHOD(Fixture, "Evaluators that are due share a snapshot", "[backend][loop]") {
  std::map<std::string, Names> seen;
  const auto evaluator = [&](const std::string& name) {
    return Evaluator{.name = name,
                     .run_every = 2,
                     .evaluate
                     = [&seen, name](BackendSampler& sampler, std::int64_t) -> Result<Metrics> {
                       seen[name].push_back(sampler.model_path());
                       return Metrics{{"score", 0.5}};
                     }};
  };
  settings.evaluators = {evaluator("a"), evaluator("b")};
  std::size_t told = 0;
  settings.callbacks.on_eval = [&](std::int64_t, const std::map<std::string, Metrics>& results) {
    told += results.size();
  };
  (void)run(4);
  const Names paths{"memory://sampler/eval_2", "memory://sampler/eval_4"};
  CHECK(seen["a"] == paths);
  CHECK(seen["b"] == paths);
  CHECK(backend.sampler_saves == Names{"eval_2", "eval_4", "final"});
  CHECK(told == 4);
  CHECK(test::read_text(settings.run_dir / "metrics.jsonl")
            .find(R"({"step":2,"val/a/score":0.5,"val/b/score":0.5})")
        != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "An evaluator that fails stops neither the others nor the training",
                 "[backend][loop][errors]") {
  int runs = 0;
  settings.evaluators = {
      {"broken", 1,
       [](BackendSampler&, std::int64_t) -> Result<Metrics> { throw std::runtime_error{"no"}; }},
      {"failing", 1,
       [](BackendSampler&, std::int64_t) -> Result<Metrics> { return fail(Errc::internal, "no"); }},
      {"good", 1, [&](BackendSampler&, std::int64_t) -> Result<Metrics> {
         ++runs;
         return Metrics{};
       }}};
  CHECK(names(run(2)) == Names{"final"});
  CHECK(runs == 2);
  CHECK(notices.size() == 4);
}

TEST_CASE_METHOD(Fixture, "A loss by name goes the named way, a function the custom one",
                 "[backend][loop]") {
  SECTION("named") {
    builder.batch.loss_fn_config = {};
    (void)run(1);
    CHECK(backend.forward_backward_calls
          == std::vector{MemoryBackend::ForwardBackwardCall{.datums = 2}});
    CHECK(backend.custom_calls.empty());
  }
  SECTION("custom") {
    builder.batch.loss = test::raise_all().fn;
    (void)run(1);
    CHECK(backend.forward_backward_calls.empty());
    CHECK(backend.custom_calls == std::vector<std::size_t>{2});
  }
}

TEST_CASE_METHOD(Fixture, "A row has all metrics, those of the batch over all others",
                 "[backend][loop]") {
  builder.batch.metrics = {{"mine", 7.0}};
  settings.lr = [](std::int64_t step) { return 0.5 / static_cast<double>(step + 1); };
  (void)run(2);
  REQUIRE(rows.size() == 2);
  CHECK(rows[1].at("progress/step") == 1.0);
  CHECK(rows[1].at("progress/done_frac") == 1.0);
  CHECK(rows[1].at("optim/lr") == 0.25); // what the optimizer says, over the builder's
  CHECK(rows[1].at("outputs") == 2.0);
  CHECK(rows[1].at("mine") == 7.0);
  CHECK(rows[1].contains("time/finish_batch"));
  CHECK(backend.optim_calls.at(0).learning_rate == 0.5);
  CHECK(backend.optim_calls.at(0).eps == 1e-8);
}

TEST_CASE_METHOD(Fixture, "A step without datums is written as skipped and saves nothing",
                 "[backend][loop]") {
  builder.empty = {1};
  builder.batch.metrics = {{"mine", 7.0}};
  settings.save_every = 1;
  CHECK(names(run(3)) == Names{"step_1", "step_3", "final"});
  CHECK(rows.at(1).at("train/skipped_empty_batch") == 1.0);
  CHECK(rows.at(1).at("mine") == 7.0);
  CHECK(backend.optim_calls.size() == 2);
}

TEST_CASE_METHOD(Fixture, "A run that goes on from a checkpoint repeats no step and skips none",
                 "[backend][loop]") {
  settings.save_every = 2;
  std::stop_source stop;
  settings.stop = stop.get_token();
  settings.callbacks.on_checkpoint = [&](const CheckpointEntry&) { stop.request_stop(); };
  const auto stopped = run(6);
  CHECK(names(stopped) == Names{"step_2", "final"});
  const auto origin = run_origin(stopped.checkpoints);
  CHECK(origin.batch == 2);
  settings.stop = {};
  MemoryBackend later;
  auto outcome = run_training_loop(later, builder, settings, 6, origin.batch);
  REQUIRE(outcome.has_value());
  CHECK(later.optim_calls.size() == 4);
  std::vector<double> steps;
  for (const auto& row : rows)
    steps.push_back(row.at("progress/step"));
  CHECK(steps == std::vector<double>{0, 1, 2, 3, 4, 5});
}

TEST_CASE_METHOD(Fixture, "What callbacks and metrics throw is told and stops nothing",
                 "[backend][loop][errors]") {
  builder.broken_metrics = true;
  builder.batch.rollouts = 3;
  settings.callbacks.on_train_start = [] { throw std::runtime_error{"start"}; };
  settings.callbacks.on_rollouts
      = [](std::int64_t, const StepBatch&) { throw std::runtime_error{"rollouts"}; };
  settings.callbacks.on_train_end = [] { throw 1; };
  CHECK(names(run(1)) == Names{"final"});
  CHECK(notices
        == Names{"on_train_start failed: start", "on_rollouts failed: rollouts",
                 "the metrics of a step failed: cannot measure",
                 "on_train_end failed: it threw something"});
}

TEST_CASE_METHOD(Fixture, "Steps that cannot be are named before anything happens",
                 "[backend][loop][errors]") {
  CHECK(error(0) == "num_steps is 0, but must be above 0");
  CHECK(error(3, -1).find("start_step is -1") == 0);
  CHECK(error(3, 3).find("start_step is 3") == 0);
  CHECK_FALSE(std::filesystem::exists(settings.run_dir));
}

TEST_CASE_METHOD(Fixture, "A manifest that was cut off is told before anything is sent",
                 "[backend][loop][errors]") {
  std::filesystem::create_directories(settings.run_dir);
  std::ofstream{settings.run_dir / "checkpoints.jsonl"} << R"({"name":"a"})"
                                                        << "\n{\"na";
  CHECK(error(1).find("checkpoints.jsonl:2: the last line is cut off") != std::string::npos);
  CHECK(backend.forward_backward_calls.empty());
}

TEST_CASE_METHOD(Fixture, "An error of the backend ends the run", "[backend][loop][errors]") {
  settings.lr = [](std::int64_t) { return -1.0; };
  CHECK(error(2).find("learning_rate") != std::string::npos);
  CHECK(backend.state_saves.empty());
}

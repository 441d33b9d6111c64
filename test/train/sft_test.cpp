// SPDX-License-Identifier: Apache-2.0
#include "train/sft.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <utility>

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

/// Answers every operation when it is waited for, and notes the order of calls and waits.
class ScriptedBackend : public Backend {
public:
  std::vector<std::string> events;
  std::vector<double> learning_rates;

  /// Number of operations that are answered; later ones never are.
  std::size_t answers = 1'000;

  /// Fails the forward_backward with this number, from 1.
  std::size_t failing = 0;

  Pending<ForwardBackwardOutput> forward_backward(Batch data) override {
    const auto number = ++batches_;
    events.push_back("fb" + std::to_string(number));
    return pending<ForwardBackwardOutput>("fb" + std::to_string(number), [=, this] {
      if (number == failing)
        return Result<ForwardBackwardOutput>{fail(Errc::request_failed, "out of luck")};
      auto output = ForwardBackwardOutput{};
      for (const auto& datum : *data) {
        const auto size = datum.loss_fn_inputs.at("weights").size();
        output.loss_fn_outputs.push_back(
            {{"logprobs",
              TensorData::of(std::vector<float>(size, -1.0F / static_cast<float>(number)))}});
      }
      return Result<ForwardBackwardOutput>{std::move(output)};
    });
  }

  Pending<OptimStepResponse> optim_step(const AdamParams& params) override {
    learning_rates.push_back(params.learning_rate);
    const auto name = "optim" + std::to_string(learning_rates.size());
    events.push_back(name);
    return pending<OptimStepResponse>(name, [] { return Result<OptimStepResponse>{}; });
  }

  Pending<SaveWeightsResponse> save_state(const std::string& name,
                                          std::optional<std::chrono::seconds> ttl) override {
    events.push_back((ttl ? "state for a while " : "state ") + name);
    return pending<SaveWeightsResponse>("state", [=] {
      return Result<SaveWeightsResponse>{SaveWeightsResponse{"tinker://r/weights/" + name}};
    });
  }

  Pending<SaveWeightsForSamplerResponse> save_for_sampler(const std::string& name) override {
    events.push_back("sampler " + name);
    return pending<SaveWeightsForSamplerResponse>("sampler", [=] {
      auto response = SaveWeightsForSamplerResponse{};
      response.path = "tinker://r/sampler_weights/" + name;
      return Result<SaveWeightsForSamplerResponse>{std::move(response)};
    });
  }

private:
  template <class T, class Function>
  Pending<T> pending(std::string name, Function answer) {
    return [=, this](std::chrono::milliseconds) -> std::optional<Result<T>> {
      if (given_ == answers)
        return std::nullopt;
      ++given_;
      events.push_back(name + "?");
      return answer();
    };
  }

  std::size_t batches_ = 0;
  std::size_t given_ = 0;
};

std::vector<Example> make_examples(std::size_t count) {
  auto result = std::vector<Example>{};
  for (std::size_t at = 0; at < count; ++at) {
    auto& example = result.emplace_back();
    example.line = at + 1;
    example.datum.model_input = ModelInput::from_ints({static_cast<Token>(at), 1});
    example.datum.loss_fn_inputs.emplace("target_tokens",
                                         TensorData::of(std::vector<std::int64_t>{1, 2}));
    example.datum.loss_fn_inputs.emplace("weights", TensorData::of(std::vector<float>{0, 1}));
    example.target_bytes = {1, 1};
  }
  return result;
}

struct Fixture {
  test::TempFolder temp;
  ScriptedBackend backend;
  std::vector<Example> examples = make_examples(6);
  RunSettings settings{.steps = 3, .batch_size = 2};
  std::stop_source stop;

  Result<RunOutcome> run(const OnStep& on_step = {}) {
    auto folder = RunFolder::open(run_path(), {});
    REQUIRE(folder);
    return run_sft(backend, examples, settings, *folder, on_step, stop.get_token());
  }

  [[nodiscard]] std::filesystem::path run_path() const {
    return temp.path() / "run";
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "A step's two halves are submitted together and one step ahead",
                 "[train][sft]") {
  REQUIRE(run());
  CHECK(backend.events
        == std::vector<std::string>{"fb1", "optim1", "fb2", "optim2", "fb1?", "optim1?", "fb3",
                                    "optim3", "fb2?", "optim2?", "state final", "sampler final",
                                    "fb3?", "optim3?", "state?", "sampler?"});
}

TEST_CASE_METHOD(Fixture, "A run writes a row a step and its checkpoint", "[train][sft]") {
  settings.adam.learning_rate = 0.5;
  auto seen = std::vector<std::size_t>{};
  const auto outcome = run([&](const StepRow& row) { seen.push_back(row.step); });
  REQUIRE(outcome);
  CHECK(seen == std::vector<std::size_t>{0, 1, 2});
  CHECK_FALSE(outcome->stopped);
  CHECK(outcome->steps_done == 3);
  CHECK(outcome->first == 1.0);
  CHECK(outcome->last == Catch::Approx(1.0 / 3.0));
  CHECK(backend.learning_rates
        == std::vector<double>{0.5, 0.5 * (1 - 1.0 / 3), 0.5 * (1 - 2.0 / 3)});
  const auto metrics = test::read_text(run_path() / "metrics.jsonl");
  CHECK(std::count(metrics.begin(), metrics.end(), '\n') == 3);
  CHECK(test::read_text(run_path() / "checkpoints.jsonl")
        == R"({"name":"final","batch":3,"epoch":1,"final":true,)"
           R"("state_path":"tinker://r/weights/final",)"
           R"("sampler_path":"tinker://r/sampler_weights/final"})"
           "\n");
}

TEST_CASE_METHOD(Fixture, "A stopped run finishes what is submitted and saves it", "[train][sft]") {
  settings.steps = 50;
  const auto outcome = run([&](const StepRow&) { stop.request_stop(); });
  REQUIRE(outcome);
  CHECK(outcome->stopped);
  CHECK(outcome->steps_done == 2);
  REQUIRE(outcome->checkpoint);
  CHECK(outcome->checkpoint->name == "step_2");
  CHECK(outcome->checkpoint->batch == 2);
  CHECK_FALSE(outcome->checkpoint->final);
}

TEST_CASE_METHOD(Fixture, "A stopped run does not wait for a service that hangs", "[train][sft]") {
  settings.steps = 50;
  settings.stop_grace = std::chrono::milliseconds{0};
  backend.answers = 2;
  const auto outcome = run([&](const StepRow&) { stop.request_stop(); });
  REQUIRE(outcome);
  CHECK(outcome->stopped);
  CHECK(outcome->steps_done == 1);
  CHECK_FALSE(outcome->checkpoint);
}

TEST_CASE_METHOD(Fixture, "A run stopped before its first step does nothing", "[train][sft]") {
  stop.request_stop();
  const auto outcome = run();
  REQUIRE(outcome);
  CHECK(outcome->stopped);
  CHECK(backend.events.empty());
  CHECK_FALSE(std::filesystem::exists(run_path()));
}

TEST_CASE_METHOD(Fixture, "The service's failure ends the run with its words", "[train][sft]") {
  backend.failing = 2;
  const auto outcome = run();
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().message == "out of luck");
  const auto metrics = test::read_text(run_path() / "metrics.jsonl");
  CHECK(std::count(metrics.begin(), metrics.end(), '\n') == 1);
}

TEST_CASE_METHOD(Fixture, "A checkpoint to go on from is saved directly behind its step",
                 "[train][sft]") {
  settings.steps = 4;
  settings.save_every = 2;
  REQUIRE(run());
  CHECK(backend.events
        == std::vector<std::string>{
            "fb1",     "optim1",      "fb2",           "optim2", "state for a while step_2",
            "fb1?",    "optim1?",     "fb3",           "optim3", "fb2?",
            "optim2?", "fb4",         "optim4",        "state?", "fb3?",
            "optim3?", "state final", "sampler final", "fb4?",   "optim4?",
            "state?",  "sampler?"});
  CHECK(test::read_text(run_path() / "checkpoints.jsonl").find(R"({"name":"step_2","batch":2,)")
        == 0);
}

TEST_CASE_METHOD(Fixture, "A run goes on with the first step that is not settled", "[train][sft]") {
  settings.steps = 4;
  settings.stop_grace = std::chrono::milliseconds{0};
  backend.answers = 4; // two steps; the third is submitted and never answered
  REQUIRE(run([&](const StepRow& row) {
    if (row.step == 1)
      stop.request_stop();
  }));
  const auto before = test::read_text(run_path() / "metrics.jsonl");
  CHECK(std::count(before.begin(), before.end(), '\n') == 2);
  auto whole = Fixture{};
  whole.settings = settings;
  REQUIRE(whole.run());

  backend = ScriptedBackend{};
  stop = std::stop_source{};
  const auto outcome = run();
  REQUIRE(outcome);
  CHECK(outcome->steps_done == 4);
  CHECK(outcome->first == 1.0);
  CHECK(backend.events
        == std::vector<std::string>{"fb1", "optim1", "fb2", "optim2", "fb1?", "optim1?",
                                    "state final", "sampler final", "fb2?", "optim2?", "state?",
                                    "sampler?"});
  // The steps are those of an untroubled run: same rows of data, same learning rates.
  CHECK(backend.learning_rates
        == std::vector<double>{whole.backend.learning_rates.begin() + 2,
                               whole.backend.learning_rates.end()});
}

TEST_CASE_METHOD(Fixture, "A checkpoint that was due when a run ended is the first thing saved",
                 "[train][sft]") {
  settings.steps = 4;
  settings.save_every = 2;
  settings.stop_grace = std::chrono::milliseconds{0};
  backend.answers = 4; // two steps; their checkpoint is never answered
  REQUIRE(run([&](const StepRow& row) {
    if (row.step == 1)
      stop.request_stop();
  }));
  backend = ScriptedBackend{};
  stop = std::stop_source{};
  REQUIRE(run());
  REQUIRE(backend.events.size() > 2);
  CHECK(backend.events[0] == "state for a while step_2");
  CHECK(backend.events[1] == "fb1");
}

TEST_CASE_METHOD(Fixture, "A run that was killed while it saved for a stop saves again first",
                 "[train][sft]") {
  settings.steps = 4;
  {
    auto folder = RunFolder::open(run_path(), {});
    REQUIRE(folder->begin({{"session", 0, 0}, {}, 0, {}}));
    auto row = StepRow{};
    REQUIRE(folder->settle(row, 0));
    REQUIRE(folder->journal()->note({{.seq_id = 3, .type = RequestType::save_weights}}));
  }
  REQUIRE(run());
  CHECK(backend.events[0] == "state step_1");
  CHECK(backend.events[1] == "sampler step_1");
  CHECK(backend.events[2] == "fb1");
}

TEST_CASE_METHOD(Fixture, "A run at its end asks for nothing", "[train][sft]") {
  REQUIRE(run());
  backend = ScriptedBackend{};
  const auto outcome = run();
  REQUIRE(outcome);
  CHECK(backend.events.empty());
  CHECK_FALSE(outcome->stopped);
  REQUIRE(outcome->checkpoint);
  CHECK(outcome->checkpoint->final);
}

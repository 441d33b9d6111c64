// SPDX-License-Identifier: Apache-2.0
//
// Recipes that sample, at a server that really trains: they learn, and go on as if nothing had
// happened.
#include "actors/courier.hpp"
#include "actors/job_supervisor.hpp"
#include "test/train/recipe_fixture.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <future>
#include <numeric>

#include "train/recipe_job.hpp"

using namespace tinkaf;
using namespace tinkaf::train;
using tinkaf::test::RecipeFixture;

namespace {

/// Stops its run once, in the middle of a step's sampling.
class StoppedWhileItSamples final : public PolicyRecipe {
public:
  StoppedWhileItSamples(const JobModel& model, SampleNotes notes,
                        const std::vector<Prompt>& prompts, PolicySettings settings,
                        std::function<void(std::size_t step)> on_sampling)
      : PolicyRecipe(model, std::move(notes), prompts, std::move(settings), {}),
        on_sampling_(std::move(on_sampling)) {}

private:
  Result<std::vector<std::vector<float>>>
  score_answers(const StepPlan& plan, const Answers& answers, Patience& patience) override {
    on_sampling_(plan.step);
    auto base = samplers().open("tiny");
    if (!base)
      return fail(base.error());
    return score(*base, {prompts()[plan.rows[0]].tokens, answers[0][0].tokens}, patience);
  }

  Result<Judged> judge(const StepPlan& plan, StepSamples samples) override {
    auto result = Judged{};
    for (auto& answer : samples.answers[0]) {
      auto advantages = std::vector<float>(answer.tokens.size(), 1.0F);
      result.rollouts.push_back(
          {prompts()[plan.rows[0]].tokens, std::move(answer), std::move(advantages)});
    }
    return result;
  }

  std::function<void(std::size_t step)> on_sampling_;
};

} // namespace

TEST_CASE_METHOD(RecipeFixture, "Reinforcement learning raises the reward", "[train][recipes]") {
  settings.steps = 20;
  REQUIRE(run(rl(), "run"));
  const auto [first, last] = ends("run", "reward/total");
  CAPTURE(first, last);
  CHECK(last > first + 0.3);
  const auto [drift, later_drift] = ends("run", "optim/kl_sample_train_v2");
  CHECK(drift < 1e-6);             // trained on what was drawn from the very same weights
  CHECK_FALSE(later_drift > 1e-6); // null where all answers are good
}

TEST_CASE_METHOD(RecipeFixture, "Preferences move the margin between chosen and rejected answers",
                 "[train][recipes]") {
  settings.batch_size = 8;
  REQUIRE(run(dpo(), "run"));
  CHECK(ends("run", "dpo_loss").first == Catch::Approx(std::log(2.0)).margin(1e-3));
  CHECK(ends("run", "dpo_loss").second < 0.5);
  CHECK(ends("run", "margin").first == Catch::Approx(0.0).margin(1e-3));
  CHECK(ends("run", "margin").second > 0.5);
  CHECK(ends("run", "accuracy").second == 1.0);
}

TEST_CASE_METHOD(RecipeFixture, "A preferred answer becomes likelier, the other one less likely",
                 "[train][recipes]") {
  const auto outcome = run(dpo(), "run");
  REQUIRE(outcome);
  const auto service = local.connect();
  const auto likelihood = [&](const std::string& weights, const std::string& text) {
    const auto sampler = service.create_sampling_client(weights);
    REQUIRE(sampler);
    const auto logprobs
        = sampler->compute_logprobs(ModelInput::from_ints(tokenizer->encode(text))).get();
    REQUIRE(logprobs);
    return std::accumulate(logprobs->begin(), logprobs->end(), 0.0,
                           [](double sum, auto x) { return sum + x.value_or(0.0F); });
  };
  const auto gain = [&](const std::string& text) {
    return likelihood(outcome->checkpoint->sampler_path, text) - likelihood("tiny", text);
  };
  CHECK(gain("a?yes") > 1.0);
  CHECK(gain("a?no") < -1.0);
}

TEST_CASE_METHOD(RecipeFixture, "Distillation brings the model nearer to its teacher",
                 "[train][recipes]") {
  settings.steps = 40;
  settings.adam.learning_rate = 0.01;
  policy.draw.group = 16;
  REQUIRE(run(distill(teacher()), "run"));
  const auto [first, last] = ends("run", "reverse_kl");
  CAPTURE(first, last);
  CHECK(first > 0.5);
  CHECK(last < first / 2);
}

TEST_CASE_METHOD(RecipeFixture, "A recipe that samples ends bit-equal after crashes at any step",
                 "[train][recipes]") {
  const auto kind = GENERATE(0, 1, 2);
  const auto job = kind == 0 ? rl() : kind == 1 ? dpo() : distill(teacher());
  REQUIRE(run(job, "untroubled"));
  for (std::size_t step = 0; step < settings.steps; step += 2)
    CHECK_THROWS_AS(run(job, "run", step), Crash);
  const auto outcome = run(job, "run");
  REQUIRE(outcome);
  CHECK(outcome->steps_done == settings.steps);
  CHECK(metrics("run") == metrics("untroubled"));
  CHECK(notices.empty());
}

TEST_CASE_METHOD(RecipeFixture, "A recipe that lost its session is made of the samples it had",
                 "[train][recipes]") {
  const auto job = rl();
  CHECK_THROWS_AS(run(job, "run", 4), Crash);
  const auto before = metrics("run");
  const auto samples = test::read_text(temp.path() / "run" / "samples.jsonl");
  session_gone = true;
  REQUIRE(run(job, "run"));
  CHECK(notices.find("goes back") != std::string::npos);
  CHECK(metrics("run").find(before) == 0);
  CHECK(test::read_text(temp.path() / "run" / "samples.jsonl").find(samples) == 0);
}

TEST_CASE_METHOD(RecipeFixture, "What a step is made of is noted before it is trained on",
                 "[train][recipes]") {
  const auto kind = GENERATE(0, 1, 2);
  const auto job = kind == 0 ? rl() : kind == 1 ? dpo() : distill(teacher());
  CHECK_THROWS_AS(run(job, "run", 2), Crash);
  const auto noted = SampleFile::open(temp.path() / "run");
  REQUIRE(noted);
  for (const std::size_t step : {0, 1, 2})
    CHECK(noted->has(step));
}

TEST_CASE_METHOD(RecipeFixture, "Steps that teach nothing are told, and leave the model as it is",
                 "[train][recipes]") {
  settings.save_every = 2;
  settings.submit_ahead = 2;
  const auto job = rl([](const auto&, std::string_view) { return 0.25; });
  // The first is settled; the second, the checkpoint and the step behind it are noted.
  CHECK_THROWS_AS(run(job, "run", 0), Crash);
  REQUIRE(run(job, "run"));
  CHECK(notices.find("step 7: all answers to a prompt are equally good") != std::string::npos);
  CHECK(ends("run", "by_group/frac_all_bad") == std::pair{1.0, 1.0});
  CHECK(metrics("run").find("\"optim/kl_sample_train_v1\":null") != std::string::npos);
  const auto last = SampleFile::open(temp.path() / "run")->find(7);
  const auto rows = BatchPlan{prompts.size(), settings.batch_size, settings.seed}.rows_of(7);
  auto patience = Patience{{}, {}};
  const auto base = local.connect().create_sampling_client("tiny");
  CHECK(*draw(*base, prompts, rows, 7, policy.draw, patience) == (*last)->answers);
}

TEST_CASE_METHOD(RecipeFixture, "Settings that cannot be are named before anything is sent",
                 "[train][recipes][errors]") {
  auto refused = std::vector<std::pair<std::string, DurableRun>>{};
  const auto add = [&](const std::string& text, DurableRun job, const auto& change) {
    change(job);
    refused.emplace_back(text, std::move(job));
  };
  const auto nothing = [](DurableRun&) {};
  add("settings.steps is 0, but must be at least 1", rl(),
      [](DurableRun& job) { job.settings.steps = 0; });
  add("settings.batch_size is 0, but must be at least 1", rl(),
      [](DurableRun& job) { job.settings.batch_size = 0; });
  add("settings.checkpoint_ttl is 0 s, but must be at least 1", rl(),
      [](DurableRun& job) { job.settings.checkpoint_ttl = {}; });
  add("adam_params.learning_rate is -0.5", dpo(),
      [](DurableRun& job) { job.settings.adam.learning_rate = -0.5; });
  add("adam_params.learning_rate is nan", dpo(),
      [](DurableRun& job) { job.settings.adam.learning_rate = std::nan(""); });
  add("lora_config.rank must be a power of 2, but is 3", dpo(),
      [](DurableRun& job) { job.model.lora_config.rank = 3; });
  add("model.base_model is empty", dpo(), [](DurableRun& job) { job.model.base_model.clear(); });
  add("recipe is missing", dpo(), [](DurableRun& job) { job.recipe = nullptr; });
  add("there are no rows", dpo_run(model(), settings, share(std::vector<Preference>{}), {"tiny"}),
      nothing);
  add("beta is 0, but must be above 0",
      dpo_run(model(), settings, share(preferences), {"tiny", 0.0}), nothing);
  add("reference is empty", dpo_run(model(), settings, share(preferences), {}), nothing);
  add("teacher is empty", distill(""), nothing);
  add("reward is missing", rl(nullptr), nothing);
  policy.draw.max_tokens = 0;
  add("draw.max_tokens is 0, but must be at least 1", distill("tiny"), nothing);
  policy.draw.max_tokens = 1;
  policy.draw.temperature = -1;
  add("draw.temperature is -1, but must be at least 0", rl(), nothing);
  policy.draw.temperature = 1;
  policy.draw.group = 1;
  CHECK(validate(distill("tiny")));
  add("draw.group is 1, but must be at least 2", rl(), nothing);
  for (const auto& [text, job] : refused) {
    auto folder = RunFolder::open(temp.path() / "run", {});
    REQUIRE(folder);
    const auto nobody = [](const auto&) -> Result<Service> {
      FAIL("a session was opened");
      return fail(Errc::internal, "");
    };
    const auto outcome = run_durable(nobody, job, *folder, {}, {}, {});
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().code == Errc::invalid_argument);
    INFO(outcome.error().message);
    CHECK(outcome.error().message.find(text) == 0);
  }
}

TEST_CASE_METHOD(RecipeFixture, "A reward that is no number is named with the line of its prompt",
                 "[train][recipes][errors]") {
  const auto outcome = run(rl([](const PromptCompletion& row, std::string_view) {
                             return row.prompt == "c?" ? std::nan("") : 1.0;
                           }),
                           "run");
  REQUIRE_FALSE(outcome);
  CHECK(outcome.error().code == Errc::invalid_argument);
  CHECK(outcome.error().message
        == "the reward of an answer to the prompt in line 3 is nan, but must be finite");
}

TEST_CASE_METHOD(RecipeFixture, "Noted samples are used in the place of others",
                 "[train][recipes]") {
  settings.steps = 1; // those of later steps are drawn anew by another model
  const auto job = rl();
  REQUIRE(run(job, "run"));
  const auto noted = temp.path() / "run" / "samples.jsonl";
  std::filesystem::create_directory(temp.path() / "other");
  std::filesystem::copy(noted, temp.path() / "other" / "samples.jsonl");
  policy.draw.seed = 6;
  REQUIRE(run(rl(), "fresh"));
  CHECK(metrics("fresh") != metrics("run"));
  REQUIRE(run(rl(), "other"));
  CHECK(metrics("other") == metrics("run"));
}

TEST_CASE_METHOD(RecipeFixture,
                 "A run that is stopped while it samples gives the step up, saves, and goes on",
                 "[train][recipes]") {
  settings.submit_ahead = GENERATE(0, 1);
  settings.stop_grace = std::chrono::milliseconds{GENERATE(0, 3'000)};
  auto stop_at = std::size_t{1'000};
  const auto make = [&](const JobModel& model, const auto&,
                        const RunFolder& folder) -> Result<std::unique_ptr<Recipe>> {
    return std::make_unique<StoppedWhileItSamples>(model, *SampleNotes::open(folder), prompts,
                                                   policy, [&](std::size_t step) {
                                                     if (step == stop_at)
                                                       stop.request_stop();
                                                   });
  };
  const auto job
      = DurableRun{.model = model(), .settings = settings, .recipe = make, .rows = prompts.size()};
  REQUIRE(run(job, "untroubled"));
  for (const auto step : {4, 5}) {
    stop_at = static_cast<std::size_t>(step);
    const auto stopped = run(job, "run");
    REQUIRE(stopped);
    CHECK(stopped->stopped);
    CHECK(stopped->steps_done <= stop_at);
    if (settings.stop_grace > std::chrono::seconds{1}) {
      REQUIRE(stopped->checkpoint);
      CHECK(stopped->checkpoint->batch == stop_at);
      CHECK_FALSE(stopped->checkpoint->sampler_path.empty());
    }
    stop = {};
  }
  stop_at = 1'000;
  REQUIRE(run(job, "run"));
  CHECK(metrics("run") == metrics("untroubled"));
  CHECK(notices.empty());
}

TEST_CASE_METHOD(RecipeFixture, "Recipes are jobs for a supervisor, which starts them again",
                 "[train][recipes][jobs]") {
  caf::actor_system_config config;
  caf::actor_system system{configure_for_clients(config)};
  const auto jobs = spawn_job_supervisor(system);
  auto self = caf::scoped_actor{system};
  const auto teacher_path = teacher();
  const auto start = [&](const std::string& name, const DurableRun& run, bool killed) {
    auto spec = StartJob{.name = name,
                         .run = recipe_job({.options = local.options(),
                                            .folder = temp.path() / name,
                                            .identity = {{"--name", name}},
                                            .job = run,
                                            .notices = {}})};
    auto breaks = std::make_shared<std::promise<std::function<void()>>>();
    if (killed) {
      spec.restarts.first_delay = std::chrono::milliseconds{1};
      spec.restarts.on_start
          = [breaks, first = true](std::string_view, std::function<void()> break_it) mutable {
              if (std::exchange(first, false))
                breaks->set_value(std::move(break_it));
            };
      spec.run = [inner = std::move(spec.run), breaks,
                  first = std::make_shared<bool>(true)](const JobRun& given) {
        auto run_now = given;
        run_now.report = [&](const JobProgress& progress) {
          given.report(progress);
          if (progress.steps_done == 3 && std::exchange(*first, false))
            breaks->get_future().get()();
        };
        return inner(run_now);
      };
    }
    self->request(jobs, caf::infinite, std::move(spec))
        .receive([](const Done&) {}, [](const caf::error&) { FAIL("not taken"); });
  };
  for (const auto killed : {false, true}) {
    const auto suffix = std::string{killed ? " killed" : ""};
    start("rl" + suffix, rl(), killed);
    start("dpo" + suffix, dpo(), killed);
    start("distill" + suffix, distill(teacher_path), killed);
  }
  for (const auto* name : {"rl", "dpo", "distill"}) {
    for (const auto* suffix : {"", " killed"})
      self->request(jobs, caf::infinite, atom::wait_v, std::string{name} + suffix)
          .receive(
              [&](const JobStatus& status) {
                INFO((status.last_error ? status.last_error->message : ""));
                CHECK(status.state == JobState::finished);
                CHECK(status.progress.steps_done == settings.steps);
                CHECK(status.progress.loss);
                CHECK((status.restarts > 0) == (*suffix != '\0'));
              },
              [](const caf::error&) { FAIL("no answer"); });
    CHECK(metrics((std::string{name} + " killed").c_str()) == metrics(name));
  }
  self->send_exit(jobs, caf::exit_reason::user_shutdown);
}

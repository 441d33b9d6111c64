// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/catch.hpp"
#include "test/client/local_service.hpp"
#include "test/train/job_examples.hpp"
#include "test/train/temp_folder.hpp"

#include <cstdlib>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "train/recipe_runs.hpp"
#include "train/row_reader.hpp"

namespace tinkaf::test {

/// Recipes at a server that really trains a small random model, which reads bytes.
struct RecipeFixture {
  /// Ends a run as a crash does: nothing is said, nothing is saved.
  struct Crash {};

  RecipeFixture() {
    const auto file = local.server->state_dir().parent_path() / "model" / "tokenizer.json";
    auto read = text::Tokenizer::load(file);
    REQUIRE(read);
    tokenizer = std::make_unique<text::Tokenizer>(std::move(*read));
    const auto renderer = train::Renderer{*tokenizer};
    auto rows = std::vector<train::DataRow>{};
    auto pairs = std::vector<train::PreferenceRow>{};
    for (auto letter = 'a'; letter <= 'h'; ++letter) {
      const auto prompt = std::string{letter} + "?";
      rows.push_back({rows.size() + 1, train::PromptCompletion{prompt, "no"}});
      pairs.push_back({prompt, "yes", "no", pairs.size() + 1});
    }
    prompts = *train::render_prompts(renderer, rows, "prompts");
    preferences = *train::render_preferences(renderer, pairs, "pairs");
    settings = {.steps = 8, .batch_size = 4, .save_every = 3};
    settings.adam.learning_rate = 0.02;
    policy.draw = {.group = 4, .max_tokens = 4, .seed = 5, .stop = renderer.stop_tokens()};
  }

  /// More is better: the share of an answer's bytes that are below 128.
  static double reward(const train::PromptCompletion& /*row*/, std::string_view answer) {
    auto low = 0.0;
    for (const auto letter : answer)
      low += static_cast<unsigned char>(letter) < 128 ? 1.0 : 0.0;
    return answer.empty() ? 0.0 : low / static_cast<double>(answer.size());
  }

  [[nodiscard]] train::JobModelSettings model() const {
    return {.base_model = "tiny", .lora_config = {.rank = 4, .seed = 1}};
  }

  [[nodiscard]] NoticeSink sink() {
    return [this](const Notice& notice) {
      const auto lock = std::lock_guard{mutex};
      notices += notice.text + '\n';
    };
  }

  [[nodiscard]] train::DurableRun rl(train::RewardFn judge = reward) {
    return train::rl_run(model(), settings, train::share(prompts), *tokenizer,
                         {policy, std::move(judge)}, sink());
  }

  [[nodiscard]] train::DurableRun dpo() const {
    return train::dpo_run(model(), settings, train::share(preferences), {"tiny", 0.1});
  }

  [[nodiscard]] train::DurableRun distill(const std::string& teacher) {
    return train::distill_run(model(), settings, train::share(prompts), {policy, teacher}, sink());
  }

  /// Weights to sample from that have been trained on something.
  [[nodiscard]] std::string teacher() const {
    const auto service = local.connect();
    const auto client = local.train(service);
    for (auto step = 0; step < 5; ++step) {
      auto data = std::vector<Datum>{};
      for (const auto& preference : preferences)
        data.push_back(preference.chosen.datum);
      REQUIRE(client.forward_backward(std::move(data)).get());
      REQUIRE(client.optim_step({.learning_rate = 0.01}).get());
    }
    const auto saved = client.save_weights_for_sampler("teacher").get();
    REQUIRE(saved);
    return *saved->path;
  }

  /// Runs a job as a new process would.
  /// @param crash_at ends it when this step is settled; never if it is above the last
  Result<train::RunOutcome> run(const train::DurableRun& job, const char* name,
                                std::size_t crash_at = 1'000) {
    auto folder = train::RunFolder::open(temp.path() / name, {{"--job", "one"}}, job.headline);
    REQUIRE(folder);
    return train::run_durable(
        [this](const std::optional<SessionRecord>& record) -> Result<Service> {
          if (!record || session_gone) {
            if (record)
              return fail(Error{.code = Errc::not_found, .message = "gone", .http_status = 404});
            return Service::connect(local.options(), {});
          }
          return Service::resume(*record, local.options(), {});
        },
        job, *folder,
        [&](const train::StepRow& row) {
          if (row.step == crash_at)
            throw Crash{};
        },
        sink(), stop.get_token());
  }

  [[nodiscard]] std::string metrics(const char* name) const {
    return read_text(temp.path() / name / "metrics.jsonl");
  }

  /// A column in the first and the last step.
  [[nodiscard]] std::pair<double, double> ends(const char* name, const char* column) const {
    const auto text = metrics(name);
    const auto last = text.rfind('\n', text.size() - 2) + 1;
    return {*train::read_number(text.substr(0, text.find('\n')), column),
            *train::read_number(text.substr(last, text.size() - last - 1), column)};
  }

  LocalService local;
  TempFolder temp;
  std::unique_ptr<text::Tokenizer> tokenizer;
  std::vector<train::Prompt> prompts;
  std::vector<train::Preference> preferences;
  train::RunSettings settings;
  train::PolicySettings policy;
  std::stop_source stop;
  bool session_gone = false;
  std::mutex mutex;
  std::string notices;
};

} // namespace tinkaf::test

// SPDX-License-Identifier: Apache-2.0
#include "cli/limits.hpp"
#include "cli/train_command.hpp"
#include "cli/train_weights.hpp"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "train/recipe_runs.hpp"

namespace tinkaf::cli {

namespace {

struct DpoOptions {
  std::string reference;
  double beta = 0.1;
};

class DpoTask final : public TrainTask {
public:
  /// @param reference a base model or a path; the weights of the start if empty
  DpoTask(std::string reference, double beta) : reference_(std::move(reference)), beta_(beta) {}

  [[nodiscard]] std::string name() const override {
    return "dpo";
  }

  [[nodiscard]] std::vector<ToldColumn> told() const override {
    return {{"dpo_loss", "loss"}, {"margin", "margin"}, {"accuracy", "accuracy"}};
  }

  [[nodiscard]] Result<void> read(const std::filesystem::path& data) override {
    auto rows = train::read_preferences(data);
    if (!rows)
      return fail(std::move(rows.error()));
    rows_ = std::move(*rows);
    data_ = data.string();
    return {};
  }

  [[nodiscard]] Result<JobIdentity> options(const std::string& /*base_model*/) const override {
    auto identity = JobIdentity{{"--beta", fmt::format("{}", beta_)}};
    if (!reference_.empty())
      identity.push_back({"--reference", reference_});
    return identity;
  }

  [[nodiscard]] Result<train::DurableRun> prepare(const TrainTarget& target) override {
    auto reference = choose_reference(target);
    if (!reference)
      return fail(std::move(reference.error()));
    const auto& model = target.model.base_model;
    auto tokenizer = target.connection.tokenizer(model);
    if (!tokenizer)
      return fail(std::move(tokenizer.error()));
    auto preferences
        = train::render_preferences(train::Renderer{std::move(*tokenizer)}, rows_, data_);
    if (!preferences)
      return fail(std::move(preferences.error()));
    if (const auto limit = target.connection.max_context_length(model))
      if (auto fit = train::check_lengths(*preferences, *limit, data_); !fit)
        return fail(std::move(fit.error()));
    return train::dpo_run(target.model, target.settings, train::share(std::move(*preferences)),
                          {std::move(*reference), beta_});
  }

private:
  Result<std::string> choose_reference(const TrainTarget& target) const {
    if (reference_.empty()) {
      if (target.model.from.empty())
        return target.model.base_model;
      if (target.start_sampler.empty())
        return fail(Errc::invalid_argument,
                    fmt::format("--reference is missing: nothing tells the weights of --from {} to "
                                "sample from; name a tinker://…/sampler_weights/… path",
                                target.model.from));
      return target.start_sampler;
    }
    const auto base = base_model_of(target.connection, "--reference", reference_);
    if (!base)
      return fail(base.error());
    if (*base != target.model.base_model)
      return fail(Errc::invalid_argument,
                  fmt::format("--reference {} is of the base model {}, but {} is trained",
                              reference_, *base, target.model.base_model));
    return reference_;
  }

  std::string reference_;
  double beta_;
  std::string data_;
  std::vector<train::PreferenceRow> rows_;
};

} // namespace

void add_train_dpo(CLI::App& train, Command& run) {
  auto* command = train.add_subcommand("dpo", "Direct preference optimization on pairs of answers");
  const auto arguments = std::make_shared<TrainArguments>();
  arguments->job.settings.save_every = 50;
  arguments->job.settings.adam.learning_rate = 1e-5;
  add_train_options(*command, *arguments, "{\"prompt\", \"chosen\", \"rejected\"}");
  const auto options = std::make_shared<DpoOptions>();
  command
      ->add_option("--reference", options->reference,
                   "Weights that the model is held to: a base model, the folder of a run, or a "
                   "tinker://…/sampler_weights/… path [those that it begins from]")
      ->check(not_empty());
  command->add_option("--beta", options->beta, "How much it is held to them")
      ->check(above_zero())
      ->capture_default_str();
  set_training(*command, run, arguments, [options]() -> Result<std::unique_ptr<TrainTask>> {
    auto reference = find_sampler("--reference", options->reference);
    if (!reference)
      return fail(std::move(reference.error()));
    return std::make_unique<DpoTask>(std::move(*reference), options->beta);
  });
}

} // namespace tinkaf::cli

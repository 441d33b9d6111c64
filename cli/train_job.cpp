// SPDX-License-Identifier: Apache-2.0
#include "cli/train_job.hpp"

#include "cli/progress.hpp"
#include "cli/train_weights.hpp"
#include "server/digest.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "train/durable_run.hpp"
#include "train/json_writer.hpp"
#include "train/row_reader.hpp"
#include "train/run_folder.hpp"

namespace tinkaf::cli {

namespace {

constexpr auto model_field = "--model";
constexpr auto supervised = "sft";

/// What tells a job from others: all that its results depend on.
Result<JobIdentity> identity_of(const TrainJob& job, const TrainTask& task,
                                const std::string& model, const std::string& start) {
  auto stream = std::ifstream{job.data, std::ios::binary};
  const auto data = std::string{std::istreambuf_iterator<char>{stream}, {}};
  if (!stream.good() && !stream.eof())
    return fail(Errc::io_error, fmt::format("cannot read {}", job.data.string()));
  const auto rank = start.empty() ? std::to_string(job.lora_rank) : "that of --from";
  auto identity = JobIdentity{{model_field, model},
                              {"the content of --data", "digest " + server::digest_of(data)},
                              {"--steps", std::to_string(job.settings.steps)},
                              {"--batch", std::to_string(job.settings.batch_size)},
                              {"--lora-rank", rank},
                              {"--lr", fmt::format("{}", job.settings.adam.learning_rate)},
                              {"--lr-schedule", to_string(job.settings.schedule)},
                              {"--seed", std::to_string(job.settings.seed)},
                              {"--save-every", std::to_string(job.settings.save_every)}};
  if (!start.empty())
    identity.push_back({"--from", start});
  if (task.name() != supervised)
    identity.push_back({"command", "train " + task.name()});
  auto own = task.options(model);
  if (!own)
    return fail(std::move(own.error()));
  identity.insert(identity.end(), own->begin(), own->end());
  return identity;
}

std::string config_json(const TrainJob& job, const TrainTask& task,
                        const train::JobModelSettings& model, const JobIdentity& own) {
  auto json = train::JsonWriter{};
  json.add("recipe", task.name());
  json.add("model", model.base_model);
  json.add("data", job.data.string());
  json.add("renderer", model.user_metadata.at(renderer_field));
  json.add("steps", static_cast<std::int64_t>(job.settings.steps));
  json.add("batch_size", static_cast<std::int64_t>(job.settings.batch_size));
  if (model.from.empty())
    json.add("lora_rank", std::int64_t{model.lora_config.rank});
  else
    json.add("from", model.from);
  json.add("learning_rate", job.settings.adam.learning_rate);
  json.add("lr_schedule", to_string(job.settings.schedule));
  json.add("save_every", static_cast<std::int64_t>(job.settings.save_every));
  json.add("seed", static_cast<std::int64_t>(job.settings.seed));
  for (const auto& field : own) // "--max-tokens" as "max_tokens"
    if (field.name != "--renderer") {
      auto name = field.name.substr(field.name.find_first_not_of('-'));
      for (auto& letter : name)
        letter = letter == '-' ? '_' : letter;
      json.add(name, field.value);
    }
  return json.take();
}

Result<std::vector<ToldValue>> told_of(const train::RunFolder& folder, const TrainTask& task) {
  const auto steps = folder.journal()->steps();
  if (!steps)
    return fail(steps.error());
  auto result = std::vector<ToldValue>{};
  for (auto& told : task.told()) {
    auto value = ToldValue{std::move(told)};
    if (!steps->empty()) {
      const auto first = train::read_number(steps->front().row, value.told.column);
      const auto last = train::read_number(steps->back().row, value.told.column);
      if (!first || !last)
        return fail(first ? last.error() : first.error());
      value.first = *first;
      value.last = *last;
    }
    result.push_back(std::move(value));
  }
  return result;
}

/// What stands in the folder.
Result<TrainResult> result_of(const train::RunFolder& folder, const TrainTask& task,
                              train::RunOutcome outcome) {
  auto told = told_of(folder, task);
  if (!told)
    return fail(std::move(told.error()));
  return TrainResult{
      .outcome = std::move(outcome), .headlines = folder.headlines(), .told = std::move(*told)};
}

} // namespace

Result<TrainResult> run_job(const TrainJob& job, TrainTask& task, Connection& connection,
                            std::FILE* progress, const StopSignals& signals) {
  auto target = find_target(job, connection);
  if (!target)
    return fail(std::move(target.error()));
  const auto durable = task.prepare(*target);
  if (!durable)
    return fail(durable.error());
  const auto& model = durable->model;
  const auto identity = identity_of(job, task, model.base_model, model.from);
  const auto own = task.options(model.base_model);
  if (!identity || !own)
    return fail(identity ? own.error() : identity.error());
  const auto headline = task.told().front();
  auto folder = train::RunFolder::open(job.out, *identity, headline.column);
  if (!folder)
    return fail(std::move(folder.error()));
  if (auto written = folder->write_config(config_json(job, task, model, *own)); !written)
    return fail(std::move(written.error()));

  const auto before = folder->headlines().size();
  if (before > 0)
    fmt::print(progress, "going on with step {} of {}, see {}\n", before, job.settings.steps,
               job.out.string());
  auto shown = Progress{progress, job.settings.steps, before, headline.name};
  auto outcome = train::run_durable(
      [&](const auto& record) { return connection.job_session(record); }, *durable, *folder,
      [&](const train::StepRow& row) {
        shown.step_done(row.step, row.value(headline.column), row.tokens);
      },
      notices_to_stderr(), signals.token());
  if (!outcome)
    return fail(std::move(outcome.error()));
  auto result = result_of(*folder, task, std::move(*outcome));
  if (result) {
    result->steps_before = before;
    result->tokens_per_second = shown.tokens_per_second();
  }
  return result;
}

Result<std::optional<TrainResult>> finished_job(const TrainJob& job, const TrainTask& task,
                                                const std::string& model) {
  const auto recorded = train::RunFolder::finished_job(job.out);
  if (!recorded)
    return fail(recorded.error());
  if (!*recorded)
    return std::nullopt;
  auto trained = model;
  if (trained.empty())
    for (const auto& field : **recorded)
      if (field.name == model_field)
        trained = field.value;
  const auto start = find_start(job);
  if (!start)
    return fail(start.error());
  const auto identity = identity_of(job, task, trained, start->state_path);
  if (!identity)
    return fail(identity.error());
  const auto folder = train::RunFolder::open(job.out, *identity, task.told().front().column);
  if (!folder)
    return fail(folder.error());
  auto result = result_of(*folder, task, train::outcome_of(*folder));
  if (!result)
    return fail(std::move(result.error()));
  result->steps_before = folder->headlines().size();
  return result;
}

} // namespace tinkaf::cli

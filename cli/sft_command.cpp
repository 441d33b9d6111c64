// SPDX-License-Identifier: Apache-2.0
#include "cli/sft_command.hpp"

#include "cli/progress.hpp"
#include "server/digest.hpp"

#include <fmt/format.h>

#include <fstream>
#include <iterator>

#include "train/durable_sft.hpp"
#include "train/json_writer.hpp"
#include "train/run_folder.hpp"

namespace tinkaf::cli {

namespace {

constexpr auto model_field = "--model";

std::string config_json(const SftJob& job, const std::string& model, train::ChatTemplate chat) {
  auto json = train::JsonWriter{};
  json.add("model", model);
  json.add("data", job.data.string());
  json.add("renderer", to_string(chat));
  json.add("steps", static_cast<std::int64_t>(job.settings.steps));
  json.add("batch_size", static_cast<std::int64_t>(job.settings.batch_size));
  json.add("lora_rank", std::int64_t{job.lora_rank});
  json.add("learning_rate", job.settings.adam.learning_rate);
  json.add("lr_schedule", to_string(job.settings.schedule));
  json.add("save_every", static_cast<std::int64_t>(job.settings.save_every));
  json.add("seed", static_cast<std::int64_t>(job.settings.seed));
  return json.take();
}

/// What tells a job from others: all that its results depend on.
Result<JobIdentity> identity_of(const SftJob& job, const std::string& model,
                                train::ChatTemplate chat) {
  auto stream = std::ifstream{job.data, std::ios::binary};
  const auto data = std::string{std::istreambuf_iterator<char>{stream}, {}};
  if (!stream.good() && !stream.eof())
    return fail(Errc::io_error, fmt::format("cannot read {}", job.data.string()));
  auto identity = JobIdentity{{model_field, model},
                              {"the content of --data", "digest " + server::digest_of(data)},
                              {"--steps", std::to_string(job.settings.steps)},
                              {"--batch", std::to_string(job.settings.batch_size)},
                              {"--lora-rank", std::to_string(job.lora_rank)},
                              {"--lr", fmt::format("{}", job.settings.adam.learning_rate)},
                              {"--lr-schedule", to_string(job.settings.schedule)},
                              {"--seed", std::to_string(job.settings.seed)},
                              {"--save-every", std::to_string(job.settings.save_every)}};
  if (chat != train::ChatTemplate::chatml)
    identity.push_back({"--renderer", to_string(chat)});
  return identity;
}

} // namespace

Result<SftJobResult> run_job(const SftJob& job, const std::vector<train::DataRow>& rows,
                             Connection& connection, std::FILE* progress,
                             const StopSignals& signals) {
  const auto model = connection.choose_model();
  if (!model)
    return fail(model.error());
  auto tokenizer = connection.tokenizer(*model);
  if (!tokenizer)
    return fail(tokenizer.error());
  const auto chat = train::choose_chat_template(job.renderer, *model);
  if (!chat)
    return fail(chat.error());
  const auto renderer = train::Renderer{std::move(*tokenizer), *chat};
  const auto name = job.data.string();
  const auto examples = train::render_all(renderer, rows, name);
  if (!examples)
    return fail(examples.error());
  if (const auto limit = connection.max_context_length(*model))
    if (auto fit = train::check_lengths(*examples, *limit, name); !fit)
      return fail(fit.error());

  auto identity = identity_of(job, *model, *chat);
  if (!identity)
    return fail(identity.error());
  auto folder = train::RunFolder::open(job.out, *identity);
  if (!folder)
    return fail(folder.error());
  if (auto written = folder->write_config(config_json(job, *model, *chat)); !written)
    return fail(written.error());

  auto durable
      = train::DurableSft{.model = {.base_model = *model,
                                    .lora_config = {.rank = job.lora_rank},
                                    .user_metadata = {{"renderer_name", to_string(*chat)}}},
                          .settings = job.settings};
  durable.model.lora_config.seed = static_cast<std::int64_t>(job.settings.seed);
  auto result = SftJobResult{};
  result.steps_before = folder->headlines().size();
  if (result.steps_before > 0)
    fmt::print(progress, "going on with step {} of {}, see {}\n", result.steps_before,
               job.settings.steps, job.out.string());
  auto shown = Progress{progress, job.settings.steps, result.steps_before};
  auto outcome
      = train::run_durable_sft([&](const auto& record) { return connection.job_session(record); },
                               durable, *examples, *folder,
                               [&](const train::StepRow& row) {
                                 shown.step_done(row.step, row.value("train_mean_nll"), row.tokens);
                               },
                               notices_to_stderr(), signals.token());
  if (!outcome)
    return fail(outcome.error());
  result.losses = folder->headlines();
  result.outcome = std::move(*outcome);
  result.tokens_per_second = shown.tokens_per_second();
  return result;
}

Result<std::optional<SftJobResult>> finished_job(const SftJob& job, const std::string& model) {
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
  const auto chat = train::choose_chat_template(job.renderer, trained);
  if (!chat)
    return fail(chat.error());
  const auto identity = identity_of(job, trained, *chat);
  if (!identity)
    return fail(identity.error());
  const auto folder = train::RunFolder::open(job.out, *identity);
  if (!folder)
    return fail(folder.error());
  return SftJobResult{.outcome = train::outcome_of(*folder),
                      .losses = folder->headlines(),
                      .steps_before = folder->headlines().size()};
}

} // namespace tinkaf::cli

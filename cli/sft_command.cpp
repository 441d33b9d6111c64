// SPDX-License-Identifier: Apache-2.0
#include "cli/sft_command.hpp"

#include "cli/progress.hpp"

#include "train/client_backend.hpp"
#include "train/json_writer.hpp"
#include "train/run_folder.hpp"

namespace tinkaf::cli {

namespace {

std::string config_json(const SftJob& job, const std::string& model) {
  auto json = train::JsonWriter{};
  json.add("model", model);
  json.add("data", job.data.string());
  json.add("steps", static_cast<std::int64_t>(job.settings.steps));
  json.add("batch_size", static_cast<std::int64_t>(job.settings.batch_size));
  json.add("lora_rank", std::int64_t{job.lora_rank});
  json.add("learning_rate", job.settings.adam.learning_rate);
  json.add("lr_schedule", to_string(job.settings.schedule));
  json.add("seed", static_cast<std::int64_t>(job.settings.seed));
  return json.take();
}

} // namespace

Result<SftJobResult> run_job(const SftJob& job, const std::vector<train::DataRow>& rows,
                             const Connection& connection, std::FILE* progress,
                             const StopSignals& signals) {
  const auto model = connection.choose_model();
  if (!model)
    return fail(model.error());
  auto tokenizer = connection.tokenizer(*model);
  if (!tokenizer)
    return fail(tokenizer.error());
  const auto renderer = train::Renderer{std::move(*tokenizer)};
  const auto name = job.data.string();
  const auto examples = train::render_all(renderer, rows, name);
  if (!examples)
    return fail(examples.error());
  if (const auto limit = connection.max_context_length(*model))
    if (auto fit = train::check_lengths(*examples, *limit, name); !fit)
      return fail(fit.error());

  auto folder = train::RunFolder::create(job.out);
  if (!folder)
    return fail(folder.error());
  if (auto written = folder->write_config(config_json(job, *model)); !written)
    return fail(written.error());

  auto lora = LoraConfig{};
  lora.rank = job.lora_rank;
  lora.seed = static_cast<std::int64_t>(job.settings.seed);
  auto client = connection.service().create_lora_training_client(*model, lora);
  if (!client)
    return fail(client.error());

  auto result = SftJobResult{};
  auto backend = train::ClientBackend{*client};
  auto shown = Progress{progress, job.settings.steps};
  auto outcome = train::run_sft(
      backend, *examples, job.settings, *folder,
      [&](const train::MetricsRow& row) {
        result.losses.push_back(row.batch.train_mean_nll);
        shown.step_done(row.step, row.batch.train_mean_nll, row.batch.num_tokens);
      },
      signals.token());
  if (!outcome)
    return fail(outcome.error());
  result.outcome = std::move(*outcome);
  result.tokens_per_second = shown.tokens_per_second();
  return result;
}

} // namespace tinkaf::cli

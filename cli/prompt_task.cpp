// SPDX-License-Identifier: Apache-2.0
#include "cli/prompt_task.hpp"

#include "cli/limits.hpp"

#include <utility>

namespace tinkaf::cli {

void add_draw_options(CLI::App& command, DrawOptions& options, std::int32_t least) {
  command.add_option("--group", options.group, "Answers that are drawn to each prompt")
      ->check(whole_number(least, INT32_MAX))
      ->capture_default_str();
  command.add_option("--max-tokens", options.max_tokens, "Most tokens of an answer")
      ->check(whole_number(1, INT32_MAX))
      ->capture_default_str();
}

Result<void> PromptTask::read(const std::filesystem::path& data) {
  auto rows = train::read_rows(data);
  if (!rows)
    return fail(std::move(rows.error()));
  rows_ = std::move(*rows);
  data_ = data.string();
  return {};
}

Result<JobIdentity> PromptTask::options(const std::string& /*base_model*/) const {
  auto identity = own_options();
  identity.push_back({"--group", std::to_string(draw_.group)});
  identity.push_back({"--max-tokens", std::to_string(draw_.max_tokens)});
  return identity;
}

Result<void> PromptTask::check(const TrainTarget& /*target*/,
                               const text::Tokenizer& /*tokenizer*/) const {
  return {};
}

Result<train::DurableRun> PromptTask::prepare(const TrainTarget& target) {
  const auto& model = target.model.base_model;
  auto tokenizer = target.connection.tokenizer(model);
  if (!tokenizer)
    return fail(std::move(tokenizer.error()));
  if (auto good = check(target, *tokenizer); !good)
    return fail(std::move(good.error()));
  const auto renderer = train::Renderer{*tokenizer};
  auto prompts = train::render_prompts(renderer, rows_, data_);
  if (!prompts)
    return fail(std::move(prompts.error()));
  if (const auto limit = target.connection.max_context_length(model))
    if (auto fit = train::check_lengths(*prompts, draw_.max_tokens, *limit, data_); !fit)
      return fail(std::move(fit.error()));
  return make(target, train::share(std::move(*prompts)), std::move(*tokenizer),
              {.draw = {.group = draw_.group,
                        .max_tokens = draw_.max_tokens,
                        .seed = target.settings.seed,
                        .stop = renderer.stop_tokens()}});
}

} // namespace tinkaf::cli

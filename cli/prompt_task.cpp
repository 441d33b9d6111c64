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
                               const text::Tokenizer& /*tokenizer*/) {
  return {};
}

Result<PreparedTask> PromptTask::prepare(const TrainTarget& target) {
  auto tokenizer = target.connection.tokenizer(target.base_model);
  if (!tokenizer)
    return fail(std::move(tokenizer.error()));
  if (auto good = check(target, *tokenizer); !good)
    return fail(std::move(good.error()));
  const auto renderer = train::Renderer{*tokenizer};
  auto prompts = train::render_prompts(renderer, rows_, data_);
  if (!prompts)
    return fail(std::move(prompts.error()));
  prompts_ = std::move(*prompts);
  if (const auto limit = target.connection.max_context_length(target.base_model))
    if (auto fit = train::check_lengths(prompts_, draw_.max_tokens, *limit, data_); !fit)
      return fail(std::move(fit.error()));
  auto settings = train::PolicySettings{.draw = {.group = draw_.group,
                                                 .max_tokens = draw_.max_tokens,
                                                 .seed = seed_,
                                                 .stop = renderer.stop_tokens()}};
  return PreparedTask{
      .rows = prompts_.size(),
      .recipe = [this, settings = std::move(settings), tokenizer = std::move(*tokenizer)](
                    const train::JobModel& model, const auto& /*backend*/,
                    const train::RunFolder& folder) -> Result<std::unique_ptr<train::Recipe>> {
        auto notes = train::SampleNotes::open(folder);
        if (!notes)
          return fail(std::move(notes.error()));
        return make(model, std::move(*notes), prompts_, tokenizer, settings);
      }};
}

} // namespace tinkaf::cli

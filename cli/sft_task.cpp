// SPDX-License-Identifier: Apache-2.0
#include "cli/sft_task.hpp"

#include "cli/connection.hpp"

#include <utility>

#include "train/recipe_runs.hpp"

namespace tinkaf::cli {

Result<void> SftTask::read(const std::filesystem::path& data) {
  auto rows = train::read_rows(data);
  if (!rows)
    return fail(std::move(rows.error()));
  rows_ = std::move(*rows);
  data_ = data.string();
  return {};
}

Result<JobIdentity> SftTask::options(const std::string& base_model) const {
  const auto chat = text::choose_chat_template(renderer_, base_model);
  if (!chat)
    return fail(chat.error());
  if (*chat == text::ChatTemplate::chatml)
    return JobIdentity{};
  return JobIdentity{{"--renderer", to_string(*chat)}};
}

Result<train::DurableRun> SftTask::prepare(const TrainTarget& target) {
  auto model = target.model;
  auto tokenizer = target.connection.tokenizer(model.base_model);
  if (!tokenizer)
    return fail(std::move(tokenizer.error()));
  const auto chat = text::choose_chat_template(renderer_, model.base_model);
  if (!chat)
    return fail(chat.error());
  auto examples = train::render_all(train::Renderer{std::move(*tokenizer), *chat}, rows_, data_);
  if (!examples)
    return fail(std::move(examples.error()));
  if (const auto limit = target.connection.max_context_length(model.base_model))
    if (auto fit = train::check_lengths(*examples, *limit, data_); !fit)
      return fail(std::move(fit.error()));
  model.user_metadata[renderer_field] = to_string(*chat);
  return train::sft_run(std::move(model), target.settings, train::share(std::move(*examples)));
}

} // namespace tinkaf::cli

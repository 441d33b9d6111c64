// SPDX-License-Identifier: Apache-2.0
#include "cli/held_out.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>

#include "train/client_backend.hpp"

namespace tinkaf::cli {

namespace {

constexpr auto wait_slice = std::chrono::milliseconds{100};

/// More room than any right answer of these rows needs.
std::int32_t answer_limit(const std::vector<train::DataRow>& rows,
                          const train::Renderer& renderer) {
  std::size_t longest = 0;
  for (const auto& row : rows)
    if (const auto* pair = std::get_if<train::PromptCompletion>(&row.content))
      longest = std::max(longest, renderer.tokenizer().encode(pair->completion, true).size());
  return static_cast<std::int32_t>(longest + 8);
}

} // namespace

Result<HeldOutResult> try_held_out(const SamplingClient& client,
                                   const std::vector<train::DataRow>& rows,
                                   const train::Renderer& renderer, std::stop_token stop) {
  auto params = SamplingParams{};
  params.temperature = 0.0;
  params.max_tokens = answer_limit(rows, renderer);
  params.seed = 0;
  if (auto tokens = renderer.stop_tokens(); !tokens.empty())
    params.stop = std::move(tokens);

  auto pending = std::vector<train::Pending<SampleResponse>>{};
  for (const auto& row : rows) {
    const auto* pair = std::get_if<train::PromptCompletion>(&row.content);
    if (pair == nullptr)
      return fail(Errc::invalid_argument,
                  fmt::format("held-out row in line {} has no \"prompt\"", row.line));
    pending.push_back(train::pending(
        client.sample(ModelInput::from_ints(renderer.prompt(pair->prompt)), 1, params)));
  }

  auto result = HeldOutResult{};
  for (std::size_t index = 0; index < rows.size(); ++index) {
    auto response = pending[index](wait_slice);
    while (!response && !stop.stop_requested())
      response = pending[index](wait_slice);
    if (!response)
      return fail(Errc::cancelled, "stopped");
    if (!*response)
      return fail(response->error());
    if ((*response)->sequences.empty())
      return fail(Errc::protocol_error, "a sample came back without a sequence");
    auto answer = text_of((*response)->sequences.front(), renderer.tokenizer());
    const auto& right = std::get<train::PromptCompletion>(rows[index].content).completion;
    result.exact += answer == right ? 1 : 0;
    result.answers.push_back(std::move(answer));
  }
  return result;
}

std::string text_of(const SampledSequence& sequence, const text::Tokenizer& tokenizer) {
  auto tokens = std::span{sequence.tokens};
  if (sequence.stop_reason == StopReason::stop && !tokens.empty())
    tokens = tokens.first(tokens.size() - 1);
  return tokenizer.decode(tokens);
}

} // namespace tinkaf::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/sampling.hpp"
#include "server/openai/chat_prompt.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

// Bodies of OpenAI's "completions" and "chat completions", as far as this server knows them:
// https://platform.openai.com/docs/api-reference

namespace tinkaf::server::openai {

using Prompt = std::variant<std::string, std::vector<Token>>;

/// What both calls have in common.
struct Wishes {
  std::string model;
  std::int32_t n = 1;

  /// Up to the context limit if absent.
  std::optional<std::int32_t> max_tokens;
  double temperature = 1.0;
  double top_p = 1.0;
  std::optional<std::int64_t> seed;
  std::vector<std::string> stop;

  /// How many of the likeliest tokens to tell at each place; absent for no logprobs at all.
  std::optional<std::int32_t> logprobs;
  bool stream = false;
  bool usage_in_stream = false;
};

struct CompletionRequest {
  Wishes wishes;

  /// At least one.
  std::vector<Prompt> prompts;

  /// Begin the answer with the prompt.
  bool echo = false;
};

struct ChatRequest {
  Wishes wishes;

  /// At least one.
  Conversation messages;
};

/// @returns `Errc::invalid_argument` naming field and value; also for parameters that OpenAI's
///   servers know and this one does not
[[nodiscard]] Result<CompletionRequest> read_completion(std::string_view json);
[[nodiscard]] Result<ChatRequest> read_chat(std::string_view json);

} // namespace tinkaf::server::openai

// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/connection.hpp"
#include "cli/held_out.hpp"
#include "cli/limits.hpp"
#include "cli/report.hpp"
#include "messages/tinker_path.hpp"
#include "text/chat_template.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <utility>

#include "train/client_backend.hpp"
#include "train/json_writer.hpp"
#include "train/render.hpp"

namespace tinkaf::cli {

namespace {

struct SampleArguments {
  ServiceArguments service;
  std::string model_path;
  std::string prompt;
  std::optional<std::int32_t> max_tokens;
  std::optional<std::int64_t> seed;
  double temperature = 1.0;
  bool chat = false;
  std::string renderer;
  bool json = false;
};

Result<std::vector<Token>> prompt_tokens(const SampleArguments& arguments,
                                         const train::Renderer& renderer) {
  if (arguments.chat)
    return renderer.prompt(train::Conversation{{"user", arguments.prompt}});
  return renderer.prompt(arguments.prompt);
}

void print_sample(const SampleArguments& arguments, const std::string& source,
                  const SampledSequence& sequence, const text::Tokenizer& tokenizer) {
  const auto text = text_of(sequence, tokenizer);
  if (!arguments.json) {
    fmt::print("{}\n", text);
    return;
  }
  auto json = train::JsonWriter{};
  json.add("model", source);
  json.add("prompt", arguments.prompt);
  json.add("text", text);
  json.add("stop_reason", to_string(sequence.stop_reason));
  json.add("tokens", std::span<const std::int32_t>{sequence.tokens});
  if (sequence.logprobs)
    json.add("logprobs", std::span<const float>{*sequence.logprobs});
  fmt::print("{}\n", json.take());
}

Result<void> draw(const SampleArguments& arguments, const StopSignals& signals) {
  if (!arguments.model_path.empty()) {
    const auto path = TinkerPath::parse(arguments.model_path);
    if (!path)
      return fail(path.error());
    if (path->kind != CheckpointKind::sampler)
      return fail(Errc::invalid_argument,
                  fmt::format("{} is a checkpoint to train on; sampling needs one of the form "
                              "tinker://…/sampler_weights/…",
                              arguments.model_path));
  }
  const auto connection = Connection::open(arguments.service, signals.token());
  if (!connection)
    return fail(connection.error());
  const auto model = connection->choose_model();
  if (!model)
    return fail(model.error());
  auto tokenizer = connection->tokenizer(*model);
  if (!tokenizer)
    return fail(tokenizer.error());
  const auto chat = text::choose_chat_template(arguments.renderer, *model);
  if (!chat)
    return fail(chat.error());
  const auto renderer = train::Renderer{std::move(*tokenizer), *chat};
  auto prompt = prompt_tokens(arguments, renderer);
  if (!prompt)
    return fail(prompt.error());

  const auto source = arguments.model_path.empty() ? *model : arguments.model_path;
  const auto client = connection->service().create_sampling_client(source);
  if (!client)
    return fail(client.error());
  auto params = SamplingParams{};
  params.max_tokens = arguments.max_tokens;
  params.seed = arguments.seed;
  params.temperature = arguments.temperature;
  if (auto stop = renderer.stop_tokens(); !stop.empty())
    params.stop = std::move(stop);
  const auto answer
      = train::pending(client->sample(ModelInput::from_ints(std::move(*prompt)), 1, params));
  while (true) {
    if (auto response = answer(std::chrono::milliseconds{100})) {
      if (!*response)
        return fail(response->error());
      for (const auto& sequence : (*response)->sequences)
        print_sample(arguments, source, sequence, renderer.tokenizer());
      return {};
    }
    if (signals.received() != 0)
      return fail(Errc::cancelled, "stopped");
  }
}

} // namespace

void add_sample(CLI::App& parent, Command& run) {
  auto* command = parent.add_subcommand("sample", "Let a model go on from a prompt");
  const auto arguments = std::make_shared<SampleArguments>();
  command->add_option("--model-path", arguments->model_path,
                      "Checkpoint to sample from, tinker://…/sampler_weights/… [the base model]");
  command->add_option("--prompt", arguments->prompt, "Text to go on from")->required();
  add_service_options(*command, arguments->service);
  command->add_option("--max-tokens", arguments->max_tokens, "Most new tokens [the model's limit]")
      ->check(whole_number(1, INT32_MAX));
  command->add_option("--temperature", arguments->temperature, "0 takes the likeliest token")
      ->check(at_least_zero())
      ->capture_default_str();
  command->add_option("--seed", arguments->seed, "Same seed, same text [drawn by the service]")
      ->check(whole_number(0));
  command->add_flag("--chat", arguments->chat, "Take the prompt for a message of a user");
  command
      ->add_option("--renderer", arguments->renderer,
                   "How chats look to the model: chatml, llama3, qwen3, "
                   "qwen3_disable_thinking or qwen3_instruct [by the model's name]")
      ->check(one_of({"chatml", "llama3", "qwen3", "qwen3_disable_thinking", "qwen3_instruct"}));
  command->add_flag("--json", arguments->json, "Print one JSON object");
  command->callback([&run, arguments] {
    run = [arguments](const StopSignals& signals) {
      const auto drawn = draw(*arguments, signals);
      return drawn ? exit_success : report(drawn.error(), signals);
    };
  });
}

} // namespace tinkaf::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

namespace tinkaf::cli {

namespace {

/// The command that was given, "tinkaf train".
struct Given {
  const CLI::App* app;
  std::string name;
};

Given given_command(const CLI::App& root) {
  auto given = Given{&root, root.get_name()};
  while (true) {
    const auto chosen = given.app->get_subcommands();
    if (chosen.empty())
      return given;
    given.app = chosen.front();
    given.name += " " + given.app->get_name();
  }
}

std::string commands_of(const CLI::App& app) {
  auto names = std::string{};
  for (const auto* command : app.get_subcommands([](const CLI::App* x) {
         return !x->get_name().empty(); // groups of options have none
       }))
    names += (names.empty() ? "" : ", ") + command->get_name();
  return names;
}

std::string left_over(const Given& given, const std::vector<std::string>& words) {
  const auto commands = commands_of(*given.app);
  if (!commands.empty() && !words.front().starts_with("-"))
    return fmt::format("`{}` has no command `{}`; there are: {}", given.name, words.front(),
                       commands);
  const auto option = std::find_if(words.begin(), words.end(),
                                   [](const auto& word) { return word.starts_with("-"); });
  if (option != words.end())
    return fmt::format("`{}` has no option `{}`; `{} --help` lists its options", given.name,
                       *option, given.name);
  return fmt::format("`{}` does not take `{}`; `{} --help` tells what it takes", given.name,
                     words.front(), given.name);
}

/// The option that a text of CLI11 begins with, of the command or of the program.
const CLI::Option* option_of(const CLI::App& root, const CLI::App& command, std::string_view text) {
  const auto name = std::string{text.substr(0, text.find_first_of(": "))};
  const auto* option = command.get_option_no_throw(name);
  return option != nullptr ? option : root.get_option_no_throw(name);
}

} // namespace

std::string usage_text(const CLI::App& app, const CLI::ParseError& wrong) {
  const auto given = given_command(app);
  auto text = std::string{wrong.what()};
  const auto* const kind = dynamic_cast<const CLI::RequiredError*>(&wrong);
  if (kind != nullptr || dynamic_cast<const CLI::ExtrasError*>(&wrong) != nullptr) {
    if (const auto words = app.remaining(true); !words.empty())
      return left_over(given, words);
    const auto commands = commands_of(*given.app);
    if (!commands.empty())
      return fmt::format("`{}` needs a command behind it: {}; `{} --help` tells what they do",
                         given.name, commands, given.name);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&wrong) != nullptr)
    if (const auto* option = option_of(app, *given.app, text))
      text = option->get_name()
             + (option->results().size() > 1 ? " was given more than once" : " needs a value");
  // "--steps: must be …": the sentence goes on.
  if (const auto colon = text.find(": must "); colon != std::string::npos)
    text.erase(colon, 1);
  return fmt::format("{}; `{} --help` tells more", text, given.name);
}

} // namespace tinkaf::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/limits.hpp"
#include "cli/report.hpp"
#include "cli/usage.hpp"

#include <exception>
#include <string>

namespace {

using namespace tinkaf::cli;

int run(int argc, char** argv) {
  auto app = CLI::App{"Fine-tune and sample language models over the Tinker API", "tinkaf"};
  app.require_subcommand(1);
  auto command = Command{};
  add_serve(app, command);
  add_train(app, command);
  add_sample(app, command);
  add_demo(app, command);
  add_pretrain(app, command);
  add_version(app, command);
  auto format = OutputFormat::table;
  auto* format_option = app.add_option_function<std::string>(
                               "-f,--format",
                               [&](const std::string& word) {
                                 format = word == "json" ? OutputFormat::json : OutputFormat::table;
                               },
                               "table or json, for `run` and `checkpoint`")
                            ->check(one_of({"table", "json"}));
  add_runs(app, command, format);
  add_checkpoints(app, command, format);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& wrong) {
    complain(usage_text(app, wrong));
    return exit_usage;
  }
  if (format_option->count() > 0 && !app.got_subcommand("run")
      && !app.got_subcommand("checkpoint")) {
    complain("--format is for `tinkaf run` and `tinkaf checkpoint` only");
    return exit_usage;
  }
  const auto signals = StopSignals{};
  return command(signals);
}

} // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& fault) {
    complain(std::string{"internal fault, please report it: "} + fault.what());
    return exit_failure;
  }
}

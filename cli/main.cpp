// SPDX-License-Identifier: Apache-2.0
#include "cli/commands.hpp"
#include "cli/report.hpp"

#include <exception>
#include <map>
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
  const auto formats = std::map<std::string, OutputFormat>{{"table", OutputFormat::table},
                                                           {"json", OutputFormat::json}};
  auto* format_option
      = app.add_option("-f,--format", format, "table or json, for `run` and `checkpoint`")
            ->transform(CLI::CheckedTransformer(formats));
  add_runs(app, command, format);
  add_checkpoints(app, command, format);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& wrong) {
    complain(std::string{wrong.what()} + "; `tinkaf --help` and `tinkaf COMMAND --help` tell more");
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

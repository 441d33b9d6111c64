// SPDX-License-Identifier: Apache-2.0
#include "api/version.hpp"

#include "cli/commands.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "train/json_writer.hpp"

namespace tinkaf::cli {

void add_version(CLI::App& parent, Command& run) {
  auto* command = parent.add_subcommand("version", "Print the version");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "Print one JSON object");
  command->callback([&run, json] {
    run = [json](const StopSignals&) {
      if (*json) {
        auto object = train::JsonWriter{};
        object.add("version", version());
        object.add("service_sdk_version", service_sdk_version);
        fmt::print("{}\n", object.take());
      } else {
        fmt::print("tinkaf {}\n", version());
      }
      return exit_success;
    };
  });
}

} // namespace tinkaf::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/commands.hpp"
#include "cli/report.hpp"
#include "cli/storage.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace tinkaf::cli {

/// What a command on stored things works with.
struct StorageCall {
  const RestClient& rest;
  const ClientOptions& options;
  OutputFormat format;
  std::stop_token stop;
};

/// A command with commands below it that look at what is stored: `tinkaf run`, `tinkaf checkpoint`.
class StorageGroup {
public:
  /// @param run, format must outlive the parsing of `parent` and the running of the command
  StorageGroup(CLI::App& parent, const char* name, const char* text, Command& run,
               const OutputFormat& format)
      : group_(parent.add_subcommand(name, text)), run_(&run), format_(&format) {
    group_->require_subcommand(1);
    group_->fallthrough();
  }

  /// Adds a command: it connects as its options say, calls `act(arguments, StorageCall)`, which
  /// returns `Result<void>`, and reports what went wrong.
  /// @param arguments have a `ServiceArguments service`
  template <class Arguments, class Act>
  CLI::App* add(const char* name, const char* text, std::shared_ptr<Arguments> arguments, Act act) {
    auto* command = group_->add_subcommand(name, text);
    command->fallthrough();
    add_storage_options(*command, arguments->service);
    command->callback([run = run_, format = format_, arguments, act] {
      *run = [format, arguments, act](const StopSignals& signals) {
        const auto storage = Storage::open(arguments->service, signals.token());
        if (!storage)
          return report(storage.error(), signals);
        const auto done = act(
            *arguments, StorageCall{storage->rest(), storage->options(), *format, signals.token()});
        return done ? exit_success : report(done.error(), signals);
      };
    });
    return command;
  }

private:
  CLI::App* group_;
  Command* run_;
  const OutputFormat* format_;
};

/// Adds `--limit`, 20 if it is not given.
void add_limit(CLI::App& command, std::size_t& limit, std::string_view things);

/// How many to ask for at a time, if `limit` are wanted, 0 being all.
[[nodiscard]] inline std::int64_t page_limit(std::size_t limit, std::int64_t page) {
  const auto wanted = static_cast<std::int64_t>(limit);
  return wanted == 0 ? page : std::min(wanted, page);
}

/// Prints "2 checkpoints (3 more not shown; --limit 0 shows all)".
/// @param total how many there are, where known
void print_count(std::size_t count, std::string_view thing, std::optional<std::int64_t> total);

/// A list in JSON of what `wire::to_json` writes.
template <class Things, class ToJson>
[[nodiscard]] std::string json_list(const Things& things, ToJson to_json) {
  auto list = std::string{};
  for (const auto& thing : things)
    list += (list.empty() ? "" : ",") + to_json(thing);
  return "[" + list + "]";
}

} // namespace tinkaf::cli

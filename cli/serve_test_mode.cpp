// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_test_mode.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace tinkaf::cli {

namespace {

constexpr const char* group = "Test mode";

/// A number of milliseconds; only with `--test-mode`.
template <class Duration>
void add_limit(CLI::App& command, CLI::Option* test_mode, const char* name, Duration& limit,
               const std::string& text) {
  command
      .add_option_function<std::uint32_t>(
          name,
          [&limit](const std::uint32_t& count) {
            limit = std::chrono::duration_cast<Duration>(std::chrono::milliseconds{count});
          },
          text)
      ->type_name("MS")
      ->group(group)
      ->needs(test_mode);
}

void add_numbers(CLI::App& command, CLI::Option* test_mode, const char* name,
                 std::vector<std::size_t>& numbers, const std::string& text) {
  command.add_option(name, numbers, text)
      ->check(CLI::PositiveNumber)
      ->delimiter(',')
      ->type_name("N,...")
      ->group(group)
      ->needs(test_mode);
}

} // namespace

void add_test_mode(CLI::App& command, ServerOptions& options) {
  auto* test_mode
      = command.add_flag("--test-mode", options.test_mode,
                         "For tests of clients: allows the options below, and says so first");
  test_mode->group(group);
  auto& limits = options.limits;
  add_limit(command, test_mode, "--poll-hold", limits.poll_hold, "How long a poll is held open");
  add_limit(command, test_mode, "--gap", limits.gap, "How long a missing number is waited for");
  add_limit(command, test_mode, "--kept", limits.delivered_retention,
            "How long a result is kept once it was fetched");
  add_limit(command, test_mode, "--kept-unfetched", limits.undelivered_retention,
            "How long a result is kept that nobody fetches");
  add_limit(command, test_mode, "--remembered", limits.expired_memory,
            "How long a result that is gone is answered with 410");
  add_limit(command, test_mode, "--abandoned", limits.abandoned,
            "A session found at the start that is silent for so long ends (whole seconds)");
  add_limit(command, test_mode, "--repeated-work", limits.repeated_work,
            "Computing that may have to be repeated; 0 stores the state behind each operation");
  add_limit(command, test_mode, "--token-life", limits.token_life,
            "How long a token of auth/token is taken (whole seconds)");
  add_limit(command, test_mode, "--archive-link", limits.archive_link,
            "How long the link to an archive works (whole seconds)");
  auto& faults = options.faults;
  add_numbers(command, test_mode, "--fail-operation", faults.failed_operations,
              "The N-th operation or sample fails");
  add_numbers(command, test_mode, "--drop-reply", faults.dropped_replies,
              "The N-th answer is not sent, the connection is closed");
  add_numbers(command, test_mode, "--delay-reply", faults.delayed_replies,
              "The N-th answer is late");
  add_limit(command, test_mode, "--reply-delay", faults.reply_delay, "How late [2000]");
  add_limit(command, test_mode, "--model-wait", faults.model_wait,
            "How long the making of a model waits");
  const auto add_count = [&](const char* name, std::size_t& count, const char* text) {
    command.add_option(name, count, text)->type_name("N")->group(group)->needs(test_mode);
  };
  add_count("--disk-full-from", faults.disk_full_from,
            "The disk is full from the N-th write to the state folder on");
  add_count("--disk-full-writes", faults.disk_full_writes, "For so many writes [for ever]");
}

std::string test_mode_notice(const ServerOptions& options) {
  const auto& faults = options.faults;
  std::vector<std::string> played;
  const auto note = [&](const char* what, const std::vector<std::size_t>& numbers) {
    if (!numbers.empty())
      played.push_back(fmt::format("{} {}", what, fmt::join(numbers, ",")));
  };
  note("fails operation", faults.failed_operations);
  note("drops reply", faults.dropped_replies);
  note("delays reply", faults.delayed_replies);
  if (faults.model_wait.count() > 0)
    played.push_back(fmt::format("models wait {} ms", faults.model_wait.count()));
  if (faults.disk_full_from > 0)
    played.push_back(fmt::format("the disk is full from write {} on", faults.disk_full_from));
  return fmt::format("TEST MODE: not for real work; {}",
                     played.empty() ? "no faults" : fmt::to_string(fmt::join(played, "; ")));
}

} // namespace tinkaf::cli

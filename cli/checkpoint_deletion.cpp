// SPDX-License-Identifier: Apache-2.0
#include "cli/checkpoint_deletion.hpp"

#include "api/wire/rfc3339.hpp"
#include "cli/limits.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <utility>

namespace tinkaf::cli {

namespace {

constexpr std::size_t at_a_time = 32;

struct Failure {
  std::string path;
  std::string reason;
};

Result<std::optional<Timestamp>> read_time(const char* option, const std::string& text) {
  if (text.empty())
    return std::nullopt;
  const auto has_time = text.find_first_of("Tt ") != std::string::npos;
  const auto time = wire::parse_rfc3339(has_time ? text : text + "T00:00:00");
  if (!time)
    return fail(Errc::invalid_argument,
                fmt::format("{} is `{}`, but must be a date or a time, for example 2026-03-04 or "
                            "2026-03-04T05:06:07Z",
                            option, text));
  return time;
}

Result<std::vector<std::string>> find_paths(const DeletionArguments& arguments,
                                            const DeletionFilter& filter, const RestClient& rest,
                                            const std::stop_token& stop) {
  if (arguments.training_run_id.empty()) {
    auto paths = std::vector<std::string>{};
    for (const auto& path : arguments.paths) // each once
      if (std::find(paths.begin(), paths.end(), path) == paths.end())
        paths.push_back(path);
    return paths;
  }
  const auto all = wait(rest.list_checkpoints(arguments.training_run_id), stop);
  if (!all)
    return fail(all.error());
  auto paths = std::vector<std::string>{};
  for (const auto& checkpoint : all->checkpoints)
    if (filter.passes(checkpoint))
      paths.push_back(checkpoint.tinker_path);
  return paths;
}

/// Asks on the standard error output; a closed input means no.
bool confirmed(const std::vector<std::string>& paths) {
  for (const auto& path : paths)
    fmt::print(stderr, "  {}\n", path);
  fmt::print(stderr, "Remove {} checkpoint{} for good? [y/N] ", paths.size(),
             paths.size() == 1 ? "" : "s");
  auto answer = std::string{};
  if (!std::getline(std::cin, answer))
    fmt::print(stderr, "\n");
  return answer == "y" || answer == "Y" || answer == "yes";
}

std::vector<Failure> remove_all(const std::vector<std::string>& paths, const RestClient& rest,
                                const std::stop_token& stop) {
  auto failures = std::vector<Failure>{};
  for (std::size_t first = 0; first < paths.size(); first += at_a_time) {
    const auto last = std::min(first + at_a_time, paths.size());
    auto under_way = std::vector<Future<Done>>{};
    for (auto i = first; i < last; ++i)
      under_way.push_back(rest.delete_checkpoint_from_tinker_path(paths[i]));
    for (auto i = first; i < last; ++i)
      if (const auto removed = wait(under_way[i - first], stop); !removed)
        failures.push_back({paths[i], error_line(removed.error())});
  }
  return failures;
}

void print_summary(std::size_t deleted, const std::vector<Failure>& failures, OutputFormat format) {
  for (const auto& failure : failures)
    complain(fmt::format("{}: {}", failure.path, failure.reason));
  if (format == OutputFormat::table) {
    print_line(fmt::format("{} checkpoint{} removed{}", deleted, deleted == 1 ? "" : "s",
                           failures.empty() ? "" : fmt::format(", {} failed", failures.size())));
    return;
  }
  auto failed = std::string{};
  for (const auto& failure : failures)
    failed += fmt::format(R"({}{{"tinker_path":{},"error":{}}})", failed.empty() ? "" : ",",
                          json_text(failure.path), json_text(failure.reason));
  print_line(pretty_json(fmt::format(R"({{"deleted_count":{},"failed":[{}]}})", deleted, failed)));
}

} // namespace

void add_deletion_options(CLI::App& command, DeletionArguments& arguments) {
  command.add_option("PATH", arguments.paths, "Their tinker:// paths");
  command.add_option("--run-id", arguments.training_run_id, "Those of this training run instead");
  command
      .add_option("--type", arguments.type,
                  "With --run-id: weights, sampler_weights or "
                  "external_weights only")
      ->check(one_of({"weights", "sampler_weights", "external_weights"}));
  command.add_option("--before", arguments.before, "With --run-id: made before this time only");
  command.add_option("--after", arguments.after, "With --run-id: made after this time only");
  command.add_flag("-y,--yes", arguments.yes, "Do not ask");
}

Result<DeletionFilter> check(const DeletionArguments& arguments) {
  const auto by_run = !arguments.training_run_id.empty();
  if (by_run && !arguments.paths.empty())
    return fail(Errc::invalid_argument, "give paths or --run-id, not both");
  if (!by_run && arguments.paths.empty())
    return fail(Errc::invalid_argument, "give the paths of checkpoints, or --run-id");
  if (!by_run && !(arguments.type.empty() && arguments.before.empty() && arguments.after.empty()))
    return fail(Errc::invalid_argument, "--type, --before and --after need --run-id");
  for (const auto& path : arguments.paths)
    if (const auto parsed = TinkerPath::parse(path); !parsed)
      return fail(parsed.error());
  auto filter = DeletionFilter{};
  if (!arguments.type.empty())
    filter.kind = checkpoint_kind_of(arguments.type);
  auto before = read_time("--before", arguments.before);
  auto after = read_time("--after", arguments.after);
  if (!before || !after)
    return fail(before ? after.error() : before.error());
  filter.before = *before;
  filter.after = *after;
  return filter;
}

Result<void> delete_checkpoints(const DeletionArguments& arguments, const StorageCall& call) {
  const auto filter = check(arguments);
  if (!filter)
    return fail(filter.error());
  const auto paths = find_paths(arguments, *filter, call.rest, call.stop);
  if (!paths)
    return fail(paths.error());
  if (!paths->empty() && !arguments.yes && !confirmed(*paths))
    return fail(Errc::cancelled, "nothing was removed");
  const auto failures = remove_all(*paths, call.rest, call.stop);
  print_summary(paths->size() - failures.size(), failures, call.format);
  if (!failures.empty())
    return fail(Errc::request_failed, fmt::format("{} of {} checkpoints could not be removed",
                                                  failures.size(), paths->size()));
  return {};
}

} // namespace tinkaf::cli

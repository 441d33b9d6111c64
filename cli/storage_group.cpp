// SPDX-License-Identifier: Apache-2.0
#include "cli/storage_group.hpp"

#include "cli/limits.hpp"

#include <fmt/format.h>

namespace tinkaf::cli {

void add_limit(CLI::App& command, std::size_t& limit, std::string_view things) {
  limit = 20;
  command.add_option("--limit", limit, fmt::format("{} to show; 0 shows all", things))
      ->check(whole_number(0))
      ->capture_default_str();
}

void print_count(std::size_t count, std::string_view thing, std::optional<std::int64_t> total) {
  auto title = fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
  const auto shown = static_cast<std::int64_t>(count);
  if (total && *total > shown)
    title += fmt::format(" ({} more not shown; --limit 0 shows all)", *total - shown);
  print_line(title);
}

} // namespace tinkaf::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace tinkaf::cli {

std::string error_line(const Error& error) {
  auto line = error.message.empty() ? std::string{to_string(error.code)} : error.message;
  if (!error.request_id.empty())
    line += fmt::format(" (request {})", error.request_id);
  std::replace_if(
      line.begin(), line.end(), [](char x) { return x == '\n' || x == '\r'; }, ' ');
  return line;
}

void complain(std::string_view text) {
  fmt::print(stderr, "tinkaf: {}\n", text);
}

int report(const Error& error, const StopSignals& signals) {
  if (signals.received() != 0) {
    complain("stopped");
    return signals.exit_code();
  }
  complain(error_line(error));
  return exit_failure;
}

} // namespace tinkaf::cli

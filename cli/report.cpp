// SPDX-License-Identifier: Apache-2.0
#include "cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace tinkaf::cli {

namespace {

/// "asample: the service answered 400: prompt: is empty" as "the service refused: prompt is empty".
/// What stands before the name of the call stays.
std::string in_plain_words(std::string_view message) {
  constexpr std::string_view mark = ": the service answered ";
  const auto at = message.find(mark);
  if (at == std::string_view::npos)
    return std::string{message};
  const auto words = message.find(": ", at + mark.size());
  if (words == std::string_view::npos)
    return std::string{message};
  auto line = std::string{message.substr(words + 2)};
  const auto field = line.find(": ");
  for (const std::string_view verb : {"is ", "must ", "has "})
    if (field != std::string::npos && std::string_view{line}.substr(field + 2).starts_with(verb)) {
      line.erase(field, 1);
      break;
    }
  const auto call = message.rfind(": ", at - 1);
  const auto before = call == std::string_view::npos || at == 0 ? std::string_view{}
                                                                : message.substr(0, call + 2);
  return std::string{before} + "the service refused: " + line;
}

} // namespace

std::string connection_reason(std::string_view message) {
  // "GET http://host:1: Failed to connect to host port 1 after 0 ms: Couldn't connect to server"
  if (const auto place = message.find("://"); place != std::string_view::npos)
    if (const auto end = message.find(": ", place); end != std::string_view::npos)
      message.remove_prefix(end + 2);
  if (message.starts_with("Could not resolve host"))
    return "there is no host of this name";
  if (message.starts_with("Failed to connect to"))
    if (const auto reason = message.rfind(": "); reason != std::string_view::npos)
      message.remove_prefix(reason + 2);
  return std::string{message};
}

std::string error_line(const Error& error) {
  auto line
      = error.message.empty() ? std::string{to_string(error.code)} : in_plain_words(error.message);
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

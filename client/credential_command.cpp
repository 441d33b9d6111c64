// SPDX-License-Identifier: Apache-2.0
#include "client/credential_command.hpp"

#include <array>
#include <cstdio>
#include <memory>

namespace tinkaf {

namespace {

struct ClosePipe {
  void operator()(std::FILE* file) const {
    ::pclose(file);
  }
};

std::string trimmed(const std::string& text) {
  constexpr auto space = " \t\r\n";
  auto first = text.find_first_not_of(space);
  if (first == std::string::npos)
    return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

} // namespace

Result<Secret> run_credential_command(const std::string& command) {
  std::unique_ptr<std::FILE, ClosePipe> pipe{::popen(command.c_str(), "r")};
  if (!pipe)
    return fail(Errc::unauthenticated, "`credential_command` could not be started");
  std::string output;
  std::array<char, 4096> buffer{};
  while (auto count = std::fread(buffer.data(), 1, buffer.size(), pipe.get()))
    output.append(buffer.data(), count);
  auto credential = trimmed(output);
  if (credential.empty())
    return fail(Errc::unauthenticated, "`credential_command` printed no credential");
  return Secret{std::move(credential)};
}

} // namespace tinkaf

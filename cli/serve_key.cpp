// SPDX-License-Identifier: Apache-2.0
#include "cli/serve_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <system_error>

namespace tinkaf::cli {

namespace fs = std::filesystem;

namespace {

/// A key is a password; longer ones are taken for a wrong file.
constexpr std::size_t longest_key = 4096;

bool is_blank(char x) {
  return std::isspace(static_cast<unsigned char>(x)) != 0;
}

} // namespace

Result<std::string> read_api_key(const fs::path& file) {
  std::error_code error;
  const auto status = fs::status(file, error);
  if (error || !fs::is_regular_file(status))
    return fail(Errc::io_error, fmt::format("--api-key-file: cannot read {}: {}", file.string(),
                                            error ? error.message() : "it is not a file"));
  if ((status.permissions() & (fs::perms::group_read | fs::perms::others_read)) != fs::perms::none)
    return fail(Errc::invalid_argument,
                fmt::format("--api-key-file: others than its owner may read {}; run chmod 600 on "
                            "it",
                            file.string()));
  std::ifstream in{file, std::ios::binary};
  std::string key(longest_key + 1, '\0');
  in.read(key.data(), static_cast<std::streamsize>(key.size()));
  key.resize(static_cast<std::size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  if (in.bad())
    return fail(Errc::io_error, fmt::format("--api-key-file: cannot read {}", file.string()));
  const auto end = std::find_if_not(key.rbegin(), key.rend(), is_blank).base();
  key.erase(end, key.end());
  key.erase(key.begin(), std::find_if_not(key.begin(), key.end(), is_blank));
  if (key.empty() || key.size() > longest_key)
    return fail(Errc::invalid_argument,
                fmt::format("--api-key-file: {} must hold a key of 1 to {} characters, and nothing "
                            "else",
                            file.string(), longest_key));
  const bool printable
      = std::all_of(key.begin(), key.end(), [](char x) { return x > ' ' && x < 0x7f; });
  if (!printable)
    return fail(Errc::invalid_argument,
                fmt::format("--api-key-file: the key in {} must be one line of printable ASCII "
                            "without blanks",
                            file.string()));
  return key;
}

} // namespace tinkaf::cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/shell_words.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace tinkaf::cli {

std::string shell_word(const std::string& text) {
  constexpr std::string_view safe = "-_./:=@%+,";
  const auto plain = std::all_of(text.begin(), text.end(), [&](unsigned char x) {
    return std::isalnum(x) != 0 || safe.find(static_cast<char>(x)) != std::string_view::npos;
  });
  if (plain && !text.empty())
    return text;
  if (text.find_first_of("'\\\n") == std::string::npos)
    return "'" + text + "'";
  auto word = std::string{"$'"};
  for (const char x : text) {
    if (x == '\n')
      word += "\\n";
    else if (x == '\'' || x == '\\')
      word += std::string{"\\"} + x;
    else
      word += x;
  }
  return word + "'";
}

} // namespace tinkaf::cli

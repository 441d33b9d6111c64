// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::test {

/// A tar of files with short names, or of entries of another type.
inline std::string tar_of(const std::vector<std::pair<std::string, std::string>>& files,
                          char type = '0') {
  std::string out;
  for (const auto& [name, content] : files) {
    std::string head(512, '\0');
    head.replace(0, name.size(), name);
    const auto put = [&head](std::size_t at, const char* format, std::size_t value) {
      char text[16];
      const auto size = std::snprintf(text, sizeof text, format, static_cast<unsigned>(value));
      head.replace(at, static_cast<std::size_t>(size), text);
    };
    put(100, "%07o", 0644);
    put(124, "%011o", content.size());
    put(136, "%011o", 0);
    head[156] = type;
    head.replace(257, 5, "ustar");
    head.replace(263, 2, "00");
    head.replace(148, 8, "        ");
    std::size_t sum = 0;
    for (const char x : head)
      sum += static_cast<unsigned char>(x);
    put(148, "%06o", sum);
    head[154] = '\0';
    out += head + content + std::string((512 - content.size() % 512) % 512, '\0');
  }
  return out + std::string(1024, '\0');
}

} // namespace tinkaf::test

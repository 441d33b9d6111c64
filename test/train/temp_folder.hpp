// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>

#include <stdlib.h>

namespace tinkaf::test {

/// A fresh folder that is gone after the test.
class TempFolder {
public:
  TempFolder() {
    auto name = (std::filesystem::temp_directory_path() / "tinkaf-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw std::runtime_error{"cannot make a temporary folder"};
    path_ = name;
  }

  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  ~TempFolder() {
    auto ignored = std::error_code{};
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] const std::filesystem::path& path() const noexcept {
    return path_;
  }

private:
  std::filesystem::path path_;
};

inline std::string read_text(const std::filesystem::path& file) {
  auto stream = std::ifstream{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

inline void write_text(const std::filesystem::path& file, std::string_view text) {
  std::ofstream{file, std::ios::binary} << text;
}

} // namespace tinkaf::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <system_error>

#include <stdlib.h>

namespace tinkaf::bench {

/// A folder beside where the benchmark is called, since the disk is what counts.
class Folder {
public:
  Folder() {
    auto name = (std::filesystem::current_path() / "tinkaf-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) != nullptr)
      path_ = name;
  }

  ~Folder() {
    auto ignored = std::error_code{};
    std::filesystem::remove_all(path_, ignored);
  }

  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const noexcept {
    return path_;
  }

private:
  std::filesystem::path path_;
};

} // namespace tinkaf::bench

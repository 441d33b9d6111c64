// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/training.hpp"

#include <cstdint>
#include <filesystem>
#include <string>

#include "train/file_output.hpp"

namespace tinkaf {

/// `metrics.jsonl`: one object a line, `step` and then numbers by name. Numbers that are not finite
/// are null.
class MetricsFile {
public:
  /// Opens the file in a folder that is there; a line that a crash has left unfinished is cut off.
  /// @returns `Errc::io_error` naming the file
  [[nodiscard]] static Result<MetricsFile> open(const std::filesystem::path& folder);

  /// Adds a row. A metric of the name `step` is left out.
  [[nodiscard]] Result<void> append(std::int64_t step, const Metrics& metrics);

private:
  explicit MetricsFile(train::LineFile file);

  train::LineFile file_;
};

/// One row without its end.
[[nodiscard]] std::string metrics_json(std::int64_t step, const Metrics& metrics);

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/safetensors.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tinkaf::model {

/// The weights of a model: one `model.safetensors`, or the several files that a
/// `model.safetensors.index.json` names.
class WeightFiles {
public:
  /// Reads the headers of all files.
  /// @returns `Errc::io_error` or `Errc::invalid_argument`, naming file and field
  [[nodiscard]] static Result<WeightFiles> open(const std::filesystem::path& folder);

  /// The file that holds a tensor.
  /// @returns `Errc::invalid_argument` if none does
  [[nodiscard]] Result<const SafetensorsReader*> file_of(const std::string& tensor) const;

  /// Names of all tensors, in order.
  [[nodiscard]] std::vector<std::string> tensors() const;

  /// Numbers in all files, in double so that they cannot wrap.
  [[nodiscard]] double elements() const;

  const std::filesystem::path& folder() const noexcept {
    return folder_;
  }

private:
  std::filesystem::path folder_;
  std::vector<SafetensorsReader> files_;
  std::map<std::string, std::size_t> owner_; // of a tensor, in files_
};

} // namespace tinkaf::model

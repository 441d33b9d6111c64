// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tinkaf::model {

/// How numbers are stored in a safetensors file. All are float32 in memory.
enum class StoredType : std::uint8_t { f32, f16, bf16 };

/// A safetensors file whose header has been read and checked against the file's size. Tensors are
/// read on demand, so nothing is allocated on the word of the header alone.
class SafetensorsReader {
public:
  struct Entry {
    StoredType type = StoredType::f32;
    std::vector<std::size_t> shape;
    std::uint64_t offset = 0; ///< of the first byte, from the start of the file
    std::size_t elements = 0;
  };

  /// @returns `Errc::io_error` if the file cannot be read; `Errc::invalid_argument` if the header
  ///          is not what the format says, naming tensor and field
  [[nodiscard]] static Result<SafetensorsReader> open(const std::filesystem::path& path);

  const std::filesystem::path& path() const noexcept {
    return path_;
  }
  const std::map<std::string, Entry>& entries() const noexcept {
    return entries_;
  }

  /// Free text by name from the header.
  const std::map<std::string, std::string>& metadata() const noexcept {
    return metadata_;
  }

  bool contains(const std::string& name) const {
    return entries_.contains(name);
  }

  /// Reads one tensor as float32.
  /// @param shape what the caller expects; any other is an error
  /// @param out as many elements as `shape` has
  [[nodiscard]] Result<void> read(const std::string& name, const std::vector<std::size_t>& shape,
                                  std::span<float> out) const;

  /// Reads one tensor that is stored as bfloat16 as it stands.
  [[nodiscard]] Result<void> read_bf16(const std::string& name,
                                       const std::vector<std::size_t>& shape,
                                       std::span<std::uint16_t> out) const;

private:
  [[nodiscard]] Result<Entry> expect(const std::string& name, const std::vector<std::size_t>& shape,
                                     std::size_t elements) const;

  std::filesystem::path path_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::string> metadata_;
};

/// One tensor to be written; borrows its data.
struct TensorSource {
  std::string name;
  std::vector<std::size_t> shape;
  std::span<const float> data;
};

/// Writes a safetensors file (whole or not at all).
/// @returns `Errc::io_error` naming the file and the reason
[[nodiscard]] Result<void> write_safetensors(const std::filesystem::path& path,
                                             std::span<const TensorSource> tensors, StoredType type,
                                             const std::map<std::string, std::string>& metadata);

/// Rounds to the nearest bfloat16, ties to even; NaN stays NaN.
[[nodiscard]] std::uint16_t to_bf16(float x) noexcept;
[[nodiscard]] float from_bf16(std::uint16_t x) noexcept;
[[nodiscard]] std::uint16_t to_f16(float x) noexcept;
[[nodiscard]] float from_f16(std::uint16_t x) noexcept;

} // namespace tinkaf::model

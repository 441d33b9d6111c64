// SPDX-License-Identifier: Apache-2.0
#include "server/model/safetensors.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

// The reader of weights, over a file in memory.

namespace {

/// A file that is written anew for each input.
class File {
public:
  File() : descriptor_(::memfd_create("fuzz", 0)) {}

  bool fill(const std::uint8_t* data, std::size_t size) const {
    return ::ftruncate(descriptor_, 0) == 0
           && ::pwrite(descriptor_, data, size, 0) == static_cast<ssize_t>(size);
  }

  [[nodiscard]] std::filesystem::path path() const {
    return "/proc/self/fd/" + std::to_string(descriptor_);
  }

private:
  int descriptor_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const File file;
  if (!file.fill(data, size))
    return 0;
  const auto reader = tinkaf::model::SafetensorsReader::open(file.path());
  if (!reader)
    return 0;
  for (const auto& [name, entry] : reader->entries()) {
    if (entry.elements > size)
      __builtin_trap(); // no number takes less than a byte
    std::vector<float> out(entry.elements);
    (void)reader->read(name, entry.shape, out);
  }
  return 0;
}

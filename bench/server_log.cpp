// SPDX-License-Identifier: Apache-2.0
#include "server/journal/record_log.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <string>

#include "bench/benchmarks.hpp"
#include "bench/folder.hpp"

namespace tinkaf::bench {

void server_log() {
  const auto folder = Folder{};
  fmt::print("records of a local server's log, on the disk of {}\n", folder.path().string());
  for (const auto bytes : std::array<std::size_t, 4>{300, 10'000, 100'000, 3'000'000}) {
    auto log = server::RecordLog{folder.path() / fmt::format("{}.log", bytes)};
    const auto body = std::string(bytes, 'x');
    auto failed = Result<void>{};
    const auto seconds = seconds_per_call([&] {
      if (auto added = log.append({.kind = 1, .note = "{}", .bytes = body}); !added)
        failed = added;
      // As a server does, which rewrites its logs: they do not grow for ever.
      if (log.size() > std::size_t{256} << 20)
        if (auto emptied = log.rewrite(nullptr, [](const auto&, const auto&) {}); !emptied)
          failed = emptied;
    });
    if (!failed)
      return fmt::print("  failed: {}\n", to_string(failed.error()));
    fmt::print("  {:10.1f} us  to add a record of {} bytes\n", seconds * 1e6, bytes);
  }
}

} // namespace tinkaf::bench

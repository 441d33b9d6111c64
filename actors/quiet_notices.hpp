// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/notice.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace tinkaf {

/// Passes on the same text at most once in `interval`, so that a thousand waiting operations do not
/// say the same thing a thousand times. Thread-safe.
/// @param now the clock
[[nodiscard]] inline NoticeSink
quiet_notices(NoticeSink sink, std::chrono::seconds interval = std::chrono::minutes{1},
              std::function<std::chrono::steady_clock::time_point()> now
              = std::chrono::steady_clock::now) {
  if (!sink)
    return {};
  struct Memory {
    std::mutex mutex;
    std::map<std::string, std::chrono::steady_clock::time_point> told;
  };
  auto memory = std::make_shared<Memory>();
  return [=](const Notice& notice) {
    {
      std::lock_guard lock{memory->mutex};
      auto time = now();
      std::erase_if(memory->told, [&](const auto& x) { return x.second + interval <= time; });
      if (!memory->told.emplace(notice.text, time).second)
        return;
    }
    sink(notice);
  };
}

} // namespace tinkaf

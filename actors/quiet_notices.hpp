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

/// Passes notices on with their text made `visible`. What the sink throws is dropped: no actor ends
/// because nobody could be told.
[[nodiscard]] inline NoticeSink harmless_notices(NoticeSink sink) {
  if (!sink)
    return {};
  return [sink = visible_notices(std::move(sink))](const Notice& notice) {
    try {
      sink(notice);
    } catch (...) { // NOLINT(bugprone-empty-catch): there is nobody left to tell
    }
  };
}

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

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/visible_text.hpp"

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <utility>

namespace tinkaf {

enum class Severity : std::uint8_t { info, warning, error };

/// Something that the user should know although no call failed: a paused queue, a silent service.
///
/// Never holds a credential.
struct Notice {
  Severity severity = Severity::info;

  /// One sentence without a line end.
  std::string text;

  friend bool operator==(const Notice&, const Notice&) = default;
};

/// Takes notices; called from any thread, must not block.
using NoticeSink = std::function<void(const Notice&)>;

/// Passes notices on with their text made `visible`.
[[nodiscard]] inline NoticeSink visible_notices(NoticeSink sink) {
  if (!sink)
    return {};
  return [sink = std::move(sink)](const Notice& notice) {
    sink({notice.severity, visible(notice.text)});
  };
}

/// Writes warnings and errors to the standard error output, a line each.
[[nodiscard]] inline NoticeSink notices_to_stderr() {
  return [](const Notice& notice) {
    if (notice.severity == Severity::info)
      return;
    auto line = (notice.severity == Severity::error ? "tinkaf: error: " : "tinkaf: warning: ")
                + notice.text + '\n';
    std::fputs(line.c_str(), stderr);
  };
}

} // namespace tinkaf

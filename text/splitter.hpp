// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tinkaf::text {

/// Cuts text into the pieces that tokens may not cross, with a regular expression.
/// Immutable; any number of threads may share one.
class Splitter {
public:
  /// @param pattern a Perl-compatible expression over UTF-8
  /// @returns `Errc::invalid_argument` with the place of the fault
  [[nodiscard]] static Result<Splitter> compile(std::string_view pattern);

  /// Calls `piece` for every match and for every gap between matches, in order. Bytes that are
  /// not UTF-8 belong to gaps. The pieces make up the whole text.
  void split(std::string_view text, const std::function<void(std::string_view)>& piece) const;

  [[nodiscard]] const std::string& pattern() const noexcept {
    return pattern_;
  }

private:
  struct Code;
  std::string pattern_;
  std::shared_ptr<const Code> code_;
};

} // namespace tinkaf::text

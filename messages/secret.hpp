// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <ostream>
#include <string>
#include <string_view>
#include <utility>

namespace tinkaf {

/// A credential: printing it in any way gives `<redacted>`; only `reveal` gives the text.
class Secret {
public:
  Secret() = default;
  Secret(std::string text) : text_(std::move(text)) {}
  Secret(const char* text) : text_(text) {}

  /// The text itself, for the one place that sends it.
  [[nodiscard]] const std::string& reveal() const noexcept {
    return text_;
  }

  [[nodiscard]] bool empty() const noexcept {
    return text_.empty();
  }

  friend bool operator==(const Secret&, const Secret&) = default;

private:
  std::string text_;
};

/// Returns "<redacted>", or "<unset>" for an empty secret.
[[nodiscard]] inline std::string to_string(const Secret& secret) {
  return secret.empty() ? "<unset>" : "<redacted>";
}

inline std::ostream& operator<<(std::ostream& out, const Secret& secret) {
  return out << to_string(secret);
}

} // namespace tinkaf

template <>
struct fmt::formatter<tinkaf::Secret> : fmt::formatter<std::string_view> {
  template <class Context>
  auto format(const tinkaf::Secret& secret, Context& context) const {
    return fmt::formatter<std::string_view>::format(tinkaf::to_string(secret), context);
  }
};

// SPDX-License-Identifier: Apache-2.0
#include "api/backoff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tinkaf {

std::chrono::milliseconds doubled(std::chrono::milliseconds first, std::uint32_t times,
                                  std::chrono::milliseconds most) noexcept {
  for (; times > 0 && first < most && first.count() > 0; --times)
    first = first > most / 2 ? most : first * 2;
  return std::min(first, most);
}

std::chrono::milliseconds scale(std::chrono::milliseconds time, double factor) noexcept {
  auto scaled = std::ceil(static_cast<double>(time.count()) * factor);
  return std::chrono::milliseconds{static_cast<std::int64_t>(scaled)};
}

std::optional<std::string> first_negative(
    std::initializer_list<std::pair<std::string_view, std::chrono::milliseconds>> times) {
  for (const auto& [name, time] : times)
    if (time.count() < 0)
      return fmt::format("{} is {} ms, but must not be negative", name, time.count());
  return std::nullopt;
}

} // namespace tinkaf

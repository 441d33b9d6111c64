// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

// The arithmetic that the policies share.

namespace tinkaf {

/// `first` doubled that many times, at most `most`; never overflows.
[[nodiscard]] std::chrono::milliseconds doubled(std::chrono::milliseconds first,
                                                std::uint32_t times,
                                                std::chrono::milliseconds most) noexcept;

/// `time` times a factor in [0, 2], rounded up.
[[nodiscard]] std::chrono::milliseconds scale(std::chrono::milliseconds time,
                                              double factor) noexcept;

/// Says which of the named times is negative: "name is -5 ms, but must not be negative".
[[nodiscard]] std::optional<std::string>
first_negative(std::initializer_list<std::pair<std::string_view, std::chrono::milliseconds>> times);

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

namespace tinkaf {

/// 128 bits from the operating system: nobody can guess them, and a forked process gets others.
/// Thread-safe; costs a system call, where `std::random_device` may cost a hundred times that.
[[nodiscard]] std::array<std::uint32_t, 4> random_bits();

/// A random number in [0, 1), from the same source.
[[nodiscard]] double random_draw();

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace tinkaf {

/// A moment of the service's clock (UTC).
///
/// Microseconds, as the service counts them: unlike the system clock's own nanoseconds they hold
/// every date of RFC 3339, which ends with the year 9999.
using Timestamp = std::chrono::sys_time<std::chrono::microseconds>;

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/signals.hpp"
#include "messages/error.hpp"

#include <string>
#include <string_view>

namespace tinkaf::cli {

/// Exit codes; a program stopped by a signal ends with `StopSignals::exit_code`.
inline constexpr int exit_success = 0;
inline constexpr int exit_failure = 1;
inline constexpr int exit_usage = 2;

/// An error as one line: its message without names of our own calls, with the service's name of the
/// request if there is one.
[[nodiscard]] std::string error_line(const Error& error);

/// Why no connection came about, from the message of such an error: without method and address.
[[nodiscard]] std::string connection_reason(std::string_view message);

/// Prints one line to the standard error.
void complain(std::string_view text);

/// Prints the error, unless a signal is the reason for it.
/// @returns the exit code
[[nodiscard]] int report(const Error& error, const StopSignals& signals);

} // namespace tinkaf::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/client_options.hpp"

namespace tinkaf::cli {

/// Shortens all waits of a client, for tests that let things go wrong, as TINKAF_TEST_PACE says: a
/// whole number from 1 to 1000; with 50, pauses before another try, limits of calls and polls and
/// the heartbeat's interval are 50 times shorter. How long a call is tried again stays as it is.
///
/// Says so on the standard error. Without the variable it does nothing.
/// @returns `Errc::invalid_argument` naming variable and value
[[nodiscard]] Result<void> apply_test_pace(ClientOptions& options);

} // namespace tinkaf::cli

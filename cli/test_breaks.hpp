// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/client_options.hpp"

namespace tinkaf::cli {

/// Breaks actors of the client at random, for tests, as TINKAF_TEST_BREAKS says: a seed. Of each
/// kind it breaks fewer than the restart policy allows, and says on the standard error which.
///
/// Without the variable it does nothing.
/// @returns `Errc::invalid_argument` naming variable and value
[[nodiscard]] Result<void> apply_test_breaks(ClientOptions& options);

} // namespace tinkaf::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/rest_runs.hpp"

#include <string>

namespace tinkaf::server {

/// What a run has used up to a request of it, that request included.
struct RunCounts {
  std::string run_id;
  TokenCounts tokens;
};

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/client_metrics.hpp"

#include <string>

namespace tinkaf::cli {

/// The metrics as lines for people, an endpoint each; every line with its end.
[[nodiscard]] std::string metrics_table(const ClientMetrics& metrics);

/// The metrics as one JSON object; times are in milliseconds.
[[nodiscard]] std::string metrics_json(const ClientMetrics& metrics);

} // namespace tinkaf::cli

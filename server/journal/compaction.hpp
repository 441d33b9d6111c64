// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/future_store.hpp"
#include "server/journal/record_log.hpp"

#include <optional>
#include <string>

namespace tinkaf::server {

/// Rewrites a log without what a later server does not need: results past their retention, and the
/// bodies of requests that are done and in the stored state of the model, if they were of any
/// account to that.
/// @param stored the name of that state, which was made just now; absent if none was made
[[nodiscard]] Result<void> compact(RecordLog& log, const std::optional<std::string>& stored,
                                   const FutureStore& futures, Timestamp now);

} // namespace tinkaf::server

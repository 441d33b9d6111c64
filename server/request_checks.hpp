// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/rest_checkpoints.hpp"
#include "server/http/http_exchange.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Checks of what several calls take.

namespace tinkaf::server {

/// Whether a time to live is in [1, 100 years] or absent.
[[nodiscard]] Result<void> check_ttl(std::optional<std::int64_t> seconds);

/// The checkpoint in the arguments of a call: run, kind, name. Nobody looks whether it is there.
[[nodiscard]] Result<TinkerPath> named_checkpoint(const HttpCall& call);

/// Why a text cannot stand for a checkpoint of a run.
[[nodiscard]] Error bad_checkpoint_id(const std::string& id);

struct Page {
  std::int64_t limit = 0;
  std::int64_t offset = 0;
};

/// Reads `limit` (1 to 1000) and `offset` (at least 0) of a query, and looks at `access_scope`,
/// which makes no difference on a server with one user.
[[nodiscard]] Result<Page> read_page(const HttpCall& call, std::int64_t default_limit);

/// Whether `access_scope` is a known one.
[[nodiscard]] Result<void> check_access_scope(const HttpCall& call);

/// What of a list is on a page, and where that stands.
template <class T>
[[nodiscard]] std::pair<std::vector<T>, Cursor> cut(std::vector<T> all, const Page& page) {
  const auto size = static_cast<std::int64_t>(all.size());
  const auto first = std::min(page.offset, size);
  const auto last = first + std::min(page.limit, size - first);
  all.erase(all.begin() + last, all.end());
  all.erase(all.begin(), all.begin() + first);
  return {std::move(all), Cursor{page.offset, page.limit, size}};
}

} // namespace tinkaf::server

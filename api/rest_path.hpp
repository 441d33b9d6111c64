// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/rest_requests.hpp"

#include <string>
#include <string_view>

namespace tinkaf {

/// The path and query of a REST call.
///
/// An id becomes exactly one segment of the path, whatever it holds: `:` stays as it is, as the
/// official SDK sends it, and so do letters, digits and `-._~`; every other byte is
/// percent-encoded, `/` and `?` too, so that no id reaches another path. Ids that a path cannot
/// hold (`.` and `..`, which servers and proxies resolve even if encoded) are refused by
/// `check_id`. In a query `:` is encoded as well.
class RestPath {
public:
  /// @param fixed segments that are known to be good, for example "training_runs"
  explicit RestPath(std::string_view fixed);

  /// Adds segments that are known to be good.
  RestPath& then(std::string_view fixed);

  /// Adds an id as one segment.
  RestPath& id(std::string_view id);

  /// Adds a checkpoint's id, which spans two segments.
  RestPath& checkpoint(const CheckpointRef& checkpoint);

  /// Adds a parameter; one without a value is left out.
  RestPath& query(std::string_view name, std::string_view value);
  RestPath& query(std::string_view name, std::int64_t value);

  /// For example "/api/v1/training_runs/s:train:0?access_scope=owned".
  [[nodiscard]] const std::string& str() const noexcept {
    return text_;
  }

private:
  std::string text_;
  bool has_query_ = false;
};

/// Checks that an id is not empty and can be a segment of a path.
/// @param name the field, for the error
[[nodiscard]] Result<void> check_id(std::string_view name, std::string_view id);

/// Checks the id of a training run, which has no slashes either; the error says what it looks like.
[[nodiscard]] Result<void> check_run_id(std::string_view id);

/// Checks both parts of a checkpoint's name; the error says what its id should look like.
[[nodiscard]] Result<void> check(const CheckpointRef& checkpoint);

} // namespace tinkaf

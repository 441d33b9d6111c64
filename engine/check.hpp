// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <map>
#include <string>

#include "engine/ops.hpp"

// What is wrong with a schedule, told before anything of it is sent. Errors are
// `Errc::invalid_argument` and name the operation by its place, the field and its value.

namespace tinkaf {

/// Looks at operations one after the other, and remembers the names of snapshots.
class OpChecker {
public:
  /// Checks the next operation: datums that are there and good for their loss, a learning rate from
  /// 0 on, a function for a custom loss, a name that is good and new.
  [[nodiscard]] Result<void> check(const Op& op);

private:
  std::size_t index_ = 0;
  std::map<std::string, std::size_t> names_;
};

/// Checks every operation; an empty schedule is fine.
[[nodiscard]] Result<void> check_ops(const Schedule& schedule);

/// Checks a schedule that someone has asked for: every operation, and that there is one.
[[nodiscard]] Result<void> check_schedule(const Schedule& schedule);

} // namespace tinkaf

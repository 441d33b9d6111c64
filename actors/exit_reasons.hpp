// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/caf_types.hpp"

#include <caf/error.hpp>
#include <caf/exit_reason.hpp>
#include <caf/message.hpp>
#include <caf/sec.hpp>

#include <string>

namespace tinkaf {

/// True unless an actor ended because it was told to or was done.
[[nodiscard]] inline bool is_breakage(const caf::error& reason) {
  return reason && reason != caf::exit_reason::user_shutdown && reason != caf::exit_reason::normal;
}

/// Why an actor ended, in words.
[[nodiscard]] inline std::string describe_exit(const caf::error& reason) {
  if (is_ours(reason))
    return from_caf(reason).message;
  if (reason == caf::exit_reason::kill)
    return "a kill";
  if (reason == caf::sec::runtime_error && reason.context().match_elements<std::string>())
    return "an exception: " + reason.context().get_as<std::string>(0);
  if (reason == caf::exit_reason::unhandled_exception || reason == caf::sec::runtime_error)
    return "an exception";
  return caf::to_string(reason);
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <fmt/format.h>

#include <exception>

namespace tinkaf::server {

/// What a function of a trainer returns. One that throws is broken, but must not take the thread
/// with it.
template <class Function>
[[nodiscard]] auto guarded(const Function& compute) -> decltype(compute()) {
  try {
    return compute();
  } catch (const std::exception& error) {
    return fail(Errc::server_error, fmt::format("the trainer broke: {}", error.what()));
  } catch (...) {
    return fail(Errc::server_error, "the trainer broke");
  }
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/error.hpp>
#include <caf/sec.hpp>

#include <exception>
#include <string>

namespace tinkaf {

/// Lets an actor that throws end with the exception's text as its reason, which is for whoever
/// supervises it to report. CAF's own handler writes to the standard error itself.
///
/// The reason is one of CAF's errors, so that those who wait for an answer see that it broke.
/// @param self an actor that CAF schedules
template <class Self>
void end_on_exception(Self self) {
  self->set_exception_handler([](std::exception_ptr& thrown) -> caf::error {
    auto what = std::string{"something that is no std::exception"};
    try {
      std::rethrow_exception(thrown);
    } catch (const std::exception& error) {
      what = error.what();
    } catch (...) { // NOLINT(bugprone-empty-catch): `what` says it
    }
    return caf::make_error(caf::sec::runtime_error, std::move(what));
  });
}

} // namespace tinkaf

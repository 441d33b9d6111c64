// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/caf_types.hpp"

#include <caf/error.hpp>

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

namespace tinkaf {

/// True if whoever was asked broke or ended before it answered: the error is CAF's own, where an
/// answer of ours is an `Error`.
[[nodiscard]] inline bool has_broken(const caf::error& error) {
  return !is_ours(error);
}

/// How often a question is repeated whose addressee breaks; one that each time breaks it has had
/// its share then.
inline constexpr std::uint32_t max_repeats = 5;

namespace detail {

template <class Self, class Handle, class OnValue, class OnError, class Args>
void ask_again(Self self, const Handle& whom, const OnValue& on_value, const OnError& on_error,
               const std::shared_ptr<const Args>& args, std::uint32_t repeats) {
  std::apply(
      [&](const auto&... xs) {
        self->request(whom, caf::infinite, xs...).then(on_value, [=](const caf::error& error) {
          if (has_broken(error) && repeats > 0)
            ask_again(self, whom, on_value, on_error, args, repeats - 1);
          else
            on_error(error);
        });
      },
      *args);
}

} // namespace detail

/// Asks an actor behind a `front`, and asks again if that one breaks before it has answered. For
/// questions that may reach it twice.
/// @param self the asker; must be able to copy `on_value` and `on_error`
template <class Self, class Handle, class OnValue, class OnError, class... Args>
void ask_supervised(Self self, const Handle& whom, OnValue on_value, OnError on_error,
                    Args... args) {
  detail::ask_again(self, whom, on_value, on_error,
                    std::make_shared<const std::tuple<Args...>>(std::move(args)...), max_repeats);
}

} // namespace tinkaf

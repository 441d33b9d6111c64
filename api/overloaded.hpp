// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tinkaf {

/// One visitor made of several functions, for `std::visit`.
template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};

// Clang needs it said until release 17.
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "actors/own_threads.hpp"

namespace tinkaf {

namespace {

thread_local bool marked = false;

} // namespace

bool on_own_thread() noexcept {
  return marked;
}

void mark_own_thread() noexcept {
  marked = true;
}

} // namespace tinkaf

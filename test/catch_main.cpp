// SPDX-License-Identifier: Apache-2.0

#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_MAIN
#endif
#include "test/catch.hpp"

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace {

#if __has_include(<catch2/catch_all.hpp>)
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

/// Catch2's assertions are for one thread. One from another thread races with those of the test
/// and breaks it now and then, far from where it stands; here it breaks it each time, and on the
/// spot.
struct OneThread : Listener {
  using Listener::Listener;

  void assertionStarting(const Catch::AssertionInfo& info) override {
    if (std::this_thread::get_id() == main)
      return;
    std::fprintf(stderr, "%s:%zu: an assertion outside of the test's own thread\n",
                 info.lineInfo.file, info.lineInfo.line);
    std::abort();
  }

  const std::thread::id main = std::this_thread::get_id();
};

} // namespace

CATCH_REGISTER_LISTENER(OneThread)

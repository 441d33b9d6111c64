// SPDX-License-Identifier: Apache-2.0
#pragma once

// One door to Catch2: version 3 where it is to be had, version 2 elsewhere.

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>

namespace Catch {
using Detail::Approx;
} // namespace Catch
#endif

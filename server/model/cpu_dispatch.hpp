// SPDX-License-Identifier: Apache-2.0
#pragma once

// One binary runs on any x86-64 and still uses wide registers where they exist. Sanitizers
// cannot live with the resolver functions that this needs.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)                                \
    && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)                             \
    && !defined(TINKAF_NO_CPU_DISPATCH)
#define TINKAF_WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define TINKAF_WIDE
#endif
#define TINKAF_INLINE inline __attribute__((always_inline))

/// Ahead of a short loop: no loop is left of it, so that arrays that it works on can be registers.
#if defined(__clang__)
#define TINKAF_UNROLL _Pragma("unroll")
#else
#define TINKAF_UNROLL _Pragma("GCC unroll 16")
#endif

// SPDX-License-Identifier: Apache-2.0
#include "server/model/row_products.hpp"

#include "server/model/cpu_dispatch.hpp"
#include "server/model/thread_pool.hpp"

#include <algorithm>
#include <cstdint>

namespace tinkaf::model {

namespace {

/// Every sum runs over so many lanes, which are added up at the end in one order.
constexpr std::size_t lanes = 8;

using Floats = float __attribute__((vector_size(lanes * sizeof(float))));
using Halves = std::uint16_t __attribute__((vector_size(lanes * sizeof(std::uint16_t))));
using Wholes = std::uint32_t __attribute__((vector_size(lanes * sizeof(std::uint32_t))));

/// A vector at any address; a copy by bytes would go through memory.
template <class Vector>
struct __attribute__((packed, may_alias)) Anywhere {
  Vector value;
};

TINKAF_INLINE void load(const float* from, Floats& to) {
  to = reinterpret_cast<const Anywhere<Floats>*>(from)->value;
}

TINKAF_INLINE void load(const std::uint16_t* from, Floats& to) {
  const Halves halves = reinterpret_cast<const Anywhere<Halves>*>(from)->value;
  const Wholes wide = __builtin_convertvector(halves, Wholes) << 16;
  to = reinterpret_cast<Floats>(wide);
}

/// The last `count` numbers of a row, then zeros.
template <class T>
TINKAF_INLINE void load_rest(const T* from, std::size_t count, Floats& to) {
  T rest[lanes] = {};
  for (std::size_t i = 0; i < count; ++i)
    rest[i] = from[i];
  load(rest, to);
}

TINKAF_INLINE float total(const Floats& x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}

/// Outputs of `Rows` rows for `Outs` rows of the matrix.
template <std::size_t Rows, std::size_t Outs, class T>
TINKAF_INLINE void tile(std::size_t in, const float* x, const T* w, float* y, std::size_t ldy,
                        bool add) {
  Floats sums[Rows][Outs] = {};
  const auto whole = in / lanes * lanes;
  const auto rest = in - whole;
  for (std::size_t k = 0; k < whole; k += lanes) {
    Floats weights[Outs];
    TINKAF_UNROLL
    for (std::size_t o = 0; o < Outs; ++o)
      load(w + o * in + k, weights[o]);
    TINKAF_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      Floats numbers;
      load(x + r * in + k, numbers);
      TINKAF_UNROLL
      for (std::size_t o = 0; o < Outs; ++o)
        sums[r][o] += numbers * weights[o];
    }
  }
  if (rest > 0) {
    TINKAF_UNROLL
    for (std::size_t r = 0; r < Rows; ++r) {
      Floats numbers;
      load_rest(x + r * in + whole, rest, numbers);
      TINKAF_UNROLL
      for (std::size_t o = 0; o < Outs; ++o) {
        Floats weights;
        load_rest(w + o * in + whole, rest, weights);
        sums[r][o] += numbers * weights;
      }
    }
  }
  TINKAF_UNROLL
  for (std::size_t r = 0; r < Rows; ++r) {
    TINKAF_UNROLL
    for (std::size_t o = 0; o < Outs; ++o)
      y[r * ldy + o] = total(sums[r][o]) + (add ? y[r * ldy + o] : 0.0F);
  }
}

template <std::size_t Outs, class T>
TINKAF_INLINE void all_rows(std::size_t rows, std::size_t in, const float* x, const T* w, float* y,
                            std::size_t ldy, bool add) {
  std::size_t r = 0;
  for (; r + 3 <= rows; r += 3)
    tile<3, Outs>(in, x + r * in, w, y + r * ldy, ldy, add);
  if (r + 2 == rows)
    tile<2, Outs>(in, x + r * in, w, y + r * ldy, ldy, add);
  else if (r + 1 == rows)
    tile<1, Outs>(in, x + r * in, w, y + r * ldy, ldy, add);
}

template <class T>
TINKAF_INLINE void all_outputs(std::size_t rows, std::size_t in, std::size_t out, const float* x,
                               const T* w, float* y, std::size_t ldy, bool add) {
  std::size_t o = 0;
  for (; o + 4 <= out; o += 4)
    all_rows<4>(rows, in, x, w + o * in, y + o, ldy, add);
  for (; o < out; ++o)
    all_rows<1>(rows, in, x, w + o * in, y + o, ldy, add);
}

TINKAF_WIDE void products_f32(std::size_t rows, std::size_t in, std::size_t out, const float* x,
                              const float* w, float* y, std::size_t ldy, bool add) {
  all_outputs(rows, in, out, x, w, y, ldy, add);
}

TINKAF_WIDE void products_bf16(std::size_t rows, std::size_t in, std::size_t out, const float* x,
                               const std::uint16_t* w, float* y, std::size_t ldy, bool add) {
  all_outputs(rows, in, out, x, w, y, ldy, add);
}

/// Outputs that one thread takes at a time.
constexpr std::size_t slice = 128;

/// Less work than this is not worth waking a thread for.
constexpr std::size_t worth_sharing = std::size_t{1} << 19;

} // namespace

void row_products(ThreadPool* pool, std::size_t rows, std::size_t in, std::size_t out,
                  const float* x, Weights w, float* y, std::size_t ldy, bool add) {
  const auto take = [&](std::size_t first, std::size_t count) {
    if (w.f32 != nullptr)
      products_f32(rows, in, count, x, w.f32 + first * in, y + first, ldy, add);
    else
      products_bf16(rows, in, count, x, w.bf16 + first * in, y + first, ldy, add);
  };
  if (pool == nullptr || rows * in * out < worth_sharing) {
    take(0, out);
    return;
  }
  pool->run((out + slice - 1) / slice,
            [&](std::size_t i) { take(i * slice, std::min(slice, out - i * slice)); });
}

} // namespace tinkaf::model

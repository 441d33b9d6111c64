// SPDX-License-Identifier: Apache-2.0
#include "server/model/linear.hpp"

#include "server/model/kernels.hpp"
#include "server/model/thread_pool.hpp"

#include <algorithm>
#include <vector>

namespace tinkaf::model {

namespace {

using kernels::gemm;
using kernels::Op;

/// Outputs of one product, the piece of work of one thread.
constexpr std::size_t panel = 512;

/// Rows of a packed matrix that are widened at once by the backward product.
constexpr std::size_t depth = 256;

/// Products below this many operations are not worth waking a thread for.
constexpr std::size_t worth_sharing = std::size_t{1} << 22;

template <class Piece>
void run(ThreadPool* pool, std::size_t count, std::size_t operations, const Piece& piece) {
  if (pool != nullptr && count > 1 && operations >= worth_sharing) {
    pool->run(count, piece);
    return;
  }
  for (std::size_t i = 0; i < count; ++i)
    piece(i);
}

/// Working memory of this thread for widened weights.
float* scratch(std::size_t size) {
  thread_local std::vector<float> memory;
  if (memory.size() < size)
    memory.resize(size);
  return memory.data();
}

} // namespace

void linear(ThreadPool* pool, std::size_t rows, std::size_t in, std::size_t out, const float* x,
            Weights w, float* y, bool add) {
  run(pool, (out + panel - 1) / panel, rows * in * out, [&](std::size_t i) {
    const auto first = i * panel;
    const auto n = std::min(panel, out - first);
    const float* matrix = w.f32 != nullptr ? w.f32 + first * in : nullptr;
    if (matrix == nullptr) {
      float* wide = scratch(n * in);
      kernels::widen_bf16(n * in, w.bf16 + first * in, wide);
      matrix = wide;
    }
    gemm(rows, n, in, 1.0F, {x, in}, {matrix, in, Op::transposed}, add ? 1.0F : 0.0F, y + first,
         out);
  });
}

void linear_backward(ThreadPool* pool, std::size_t rows, std::size_t in, std::size_t out,
                     const float* dy, Weights w, float* dx) {
  run(pool, (in + panel - 1) / panel, rows * in * out, [&](std::size_t i) {
    const auto first = i * panel;
    const auto n = std::min(panel, in - first);
    for (std::size_t k = 0; k < out; k += depth) {
      const auto part = std::min(depth, out - k);
      kernels::Operand matrix{w.f32 != nullptr ? w.f32 + k * in + first : nullptr, in};
      if (w.f32 == nullptr) {
        float* wide = scratch(part * n);
        for (std::size_t r = 0; r < part; ++r)
          kernels::widen_bf16(n, w.bf16 + (k + r) * in + first, wide + r * n);
        matrix = {wide, n};
      }
      gemm(rows, n, part, 1.0F, {dy + k, out}, matrix, k == 0 ? 0.0F : 1.0F, dx + first, in);
    }
  });
}

void widen(std::size_t n, Weights from, float* to) {
  if (from.f32 != nullptr)
    std::copy_n(from.f32, n, to);
  else
    kernels::widen_bf16(n, from.bf16, to);
}

} // namespace tinkaf::model

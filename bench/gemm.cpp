// SPDX-License-Identifier: Apache-2.0
#include "server/model/kernels.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "bench/benchmarks.hpp"

namespace tinkaf::bench {

namespace {

namespace kernels = model::kernels;

struct Shape {
  const char* what;
  std::size_t m;
  std::size_t n;
  std::size_t k;
};

/// Rows are tokens of a sequence; width 256, feed-forward 688, adapters of rank 8 and 32.
constexpr auto shapes = std::array<Shape, 6>{{
    {"large, taken as the peak", 1024, 1024, 1024},
    {"attention projection", 256, 256, 256},
    {"feed-forward, up", 256, 688, 256},
    {"feed-forward, down", 256, 256, 688},
    {"adapter of rank 8", 256, 8, 256},
    {"adapter of rank 32", 256, 32, 256},
}};

double gflops(const Shape& shape) {
  const auto a = std::vector<float>(shape.m * shape.k, 0.5F);
  const auto b = std::vector<float>(shape.n * shape.k, 0.25F);
  auto c = std::vector<float>(shape.m * shape.n);
  // Weights are stored [out, in], so the second operand is read transposed.
  const auto seconds = seconds_per_call([&] {
    kernels::gemm(shape.m, shape.n, shape.k, 1.0F, {a.data(), shape.k},
                  {b.data(), shape.k, kernels::Op::transposed}, 0.0F, c.data(), shape.n);
  });
  return 2.0 * static_cast<double>(shape.m * shape.n * shape.k) / seconds / 1e9;
}

} // namespace

void gemm() {
  kernels::pin_to_one_thread();
  auto peak = 0.0;
  fmt::print("matrix products on one thread, float32\n");
  for (const auto& shape : shapes) {
    const auto speed = gflops(shape);
    if (peak == 0.0)
      peak = speed;
    fmt::print("  {:>4} x {:>4} x {:>4}  {:7.1f} GFLOP/s  {:4.0f} % of peak  {}\n", shape.m,
               shape.n, shape.k, speed, 100.0 * speed / peak, shape.what);
  }
}

} // namespace tinkaf::bench

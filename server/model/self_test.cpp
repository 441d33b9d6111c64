// SPDX-License-Identifier: Apache-2.0
#include "server/model/kernels.hpp"
#include "server/model/random.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tinkaf::model::kernels {

namespace {

std::vector<float> numbers(Random& random, std::size_t n) {
  std::vector<float> out(n);
  for (auto& x : out)
    x = static_cast<float>(random.normal());
  return out;
}

/// Compares results with references and keeps the worst difference.
class Comparison {
public:
  explicit Comparison(SelfTestReport& report) : report_(report) {}

  /// @param scale what an error is measured against: the size of the terms that were summed
  void check(const char* kernel, double got, double reference, double scale) {
    const double error = std::fabs(got - reference) / std::max(scale, 1e-6);
    // Written so that NaN counts as the worst of errors.
    if (!(error <= report_.worst_error)) {
      report_.worst_error = std::isnan(error) ? HUGE_VAL : error;
      report_.worst_kernel = kernel;
    }
  }

private:
  SelfTestReport& report_;
};

void test_gemm(Comparison& result, Random& random, std::size_t m, std::size_t n, std::size_t k,
               Op op_a, Op op_b) {
  const auto a = numbers(random, m * k);
  const auto b = numbers(random, k * n);
  const auto before = numbers(random, m * n);
  auto c = before;
  const bool plain_a = op_a == Op::plain;
  const bool plain_b = op_b == Op::plain;
  gemm(m, n, k, 0.5F, {a.data(), plain_a ? k : m, op_a}, {b.data(), plain_b ? n : k, op_b}, 1.0F,
       c.data(), n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0.0;
      double size = 0.0;
      for (std::size_t l = 0; l < k; ++l) {
        const double term = static_cast<double>(plain_a ? a[i * k + l] : a[l * m + i])
                            * (plain_b ? b[l * n + j] : b[j * k + l]);
        sum += term;
        size += std::fabs(term);
      }
      const double old = before[i * n + j];
      result.check("gemm", c[i * n + j], old + 0.5 * sum, std::fabs(old) + 0.5 * size);
    }
}

void test_rows(Comparison& result, Random& random, std::size_t n) {
  const auto x = numbers(random, n);
  const auto ones = std::vector<float>(n, 1.0F);
  double sum = 0.0;
  double squares = 0.0;
  for (const double v : x) {
    sum += std::exp(v);
    squares += v * v;
  }
  result.check("log_sum_exp", log_sum_exp(n, x.data()), std::log(sum), 1.0 + std::log(sum));
  auto p = x;
  causal_softmax(1, n, n, p.data(), n);
  for (std::size_t i = 0; i < n; ++i)
    result.check("causal_softmax", p[i], std::exp(static_cast<double>(x[i])) / sum, 1.0);
  std::vector<float> normed(n);
  float inverse = 0.0F;
  rmsnorm(1, n, 1e-5F, x.data(), ones.data(), normed.data(), &inverse);
  const double root = std::sqrt(squares / static_cast<double>(n) + 1e-5);
  for (std::size_t i = 0; i < n; ++i)
    result.check("rmsnorm", normed[i], x[i] / root, 1.0 + std::fabs(x[i] / root));
  std::vector<float> gated(n);
  swiglu(1, n, x.data(), ones.data(), n, gated.data());
  for (std::size_t i = 0; i < n; ++i)
    result.check("swiglu", gated[i], x[i] / (1.0 + std::exp(-static_cast<double>(x[i]))), 1.0);
  result.check("squared_norm", squared_norm(n, x.data()), squares, 1.0 + squares);
}

} // namespace

SelfTestReport self_test() {
  SelfTestReport report;
  Comparison result{report};
  Random random{20};
  constexpr std::size_t sizes[] = {1, 7, 16, 33, 96};
  for (const auto m : sizes)
    for (const auto n : {std::size_t{3}, std::size_t{32}, std::size_t{65}})
      for (const auto op_a : {Op::plain, Op::transposed})
        for (const auto op_b : {Op::plain, Op::transposed})
          test_gemm(result, random, m, n, m == 16 ? 256 : 31, op_a, op_b);
  for (const std::size_t n : {1, 5, 16, 100, 1000})
    test_rows(result, random, n);
  return report;
}

} // namespace tinkaf::model::kernels

// SPDX-License-Identifier: Apache-2.0
#include "server/model/kernels.hpp"

#include "server/model/cpu_dispatch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <cblas.h>

namespace tinkaf::model::kernels {

namespace {

// Sums run over a fixed number of lanes, so that the compiler may vectorise them without being
// allowed to reorder arithmetic elsewhere.
constexpr std::size_t lanes = 16;

TINKAF_INLINE float fold(const float* lane) {
  float sum[lanes / 2];
  for (std::size_t i = 0; i < 8; ++i)
    sum[i] = lane[i] + lane[i + 8];
  for (std::size_t i = 0; i < 4; ++i)
    sum[i] += sum[i + 4];
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

template <class Term>
TINKAF_INLINE float lane_sum(std::size_t n, Term term) {
  float lane[lanes] = {};
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t j = 0; j < lanes; ++j)
      lane[j] += term(i + j);
  for (std::size_t j = 0; i + j < n; ++j)
    lane[j] += term(i + j);
  return fold(lane);
}

TINKAF_INLINE float max_of(std::size_t n, const float* x) {
  float lane[lanes];
  for (std::size_t j = 0; j < lanes; ++j)
    lane[j] = x[0];
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    for (std::size_t j = 0; j < lanes; ++j)
      lane[j] = lane[j] < x[i + j] ? x[i + j] : lane[j];
  for (std::size_t j = 0; i + j < n; ++j)
    lane[j] = lane[j] < x[i + j] ? x[i + j] : lane[j];
  float top = lane[0];
  for (std::size_t j = 1; j < lanes; ++j)
    top = top < lane[j] ? lane[j] : top;
  return top;
}

// exp without branches: 2^k * p(r) with |r| <= ln(2)/2, p a degree 6 polynomial whose
// coefficients are the Taylor ones up to the last two, which absorb the remainder.
// NaN stays NaN, so that a broken forward pass is seen.
TINKAF_INLINE float fast_exp(float x) {
  constexpr float log2e = 1.44269504088896341F;
  constexpr float ln2_high = 0.693359375F;
  constexpr float ln2_low = -2.12194440e-4F;
  constexpr float rounder = 12582912.0F; // 1.5 * 2^23: adding it rounds to an integer
  float clamped = x < -87.0F ? -87.0F : x;
  clamped = clamped > 88.0F ? 88.0F : clamped;
  const float shifted = clamped * log2e + rounder;
  const float k = shifted - rounder;
  const float r = (clamped - k * ln2_high) - k * ln2_low;
  float p = 1.3888889e-3F;
  p = p * r + 8.3333333e-3F;
  p = p * r + 4.1666667e-2F;
  p = p * r + 1.6666667e-1F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const auto bits = (std::bit_cast<std::int32_t>(shifted) << 23) + (127 << 23);
  const float power = std::bit_cast<float>(bits);
  // Far below the smallest normal number the answer is zero.
  return x < -87.0F ? 0.0F : p * power;
}

} // namespace

void pin_to_one_thread() {
  openblas_set_num_threads(1);
}

void gemm(std::size_t m, std::size_t n, std::size_t k, float alpha, Operand a, Operand b,
          float beta, float* c, std::size_t ldc) {
  const auto blas = [](Op op) { return op == Op::plain ? CblasNoTrans : CblasTrans; };
  const auto integer = [](std::size_t x) { return static_cast<blasint>(x); };
  cblas_sgemm(CblasRowMajor, blas(a.op), blas(b.op), integer(m), integer(n), integer(k), alpha,
              a.data, integer(a.ld), b.data, integer(b.ld), beta, c, integer(ldc));
}

TINKAF_WIDE void widen_bf16(std::size_t n, const std::uint16_t* from, float* to) {
  for (std::size_t i = 0; i < n; ++i)
    to[i] = std::bit_cast<float>(static_cast<std::uint32_t>(from[i]) << 16);
}

TINKAF_WIDE void axpy(std::size_t n, float a, const float* x, float* y) {
  for (std::size_t i = 0; i < n; ++i)
    y[i] += a * x[i];
}

TINKAF_WIDE float dot(std::size_t n, const float* x, const float* y) {
  return lane_sum(n, [=](std::size_t i) { return x[i] * y[i]; });
}

TINKAF_WIDE double squared_norm(std::size_t n, const float* x) {
  double lane[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (std::size_t j = 0; j < 8; ++j)
      lane[j] += static_cast<double>(x[i + j]) * x[i + j];
  for (std::size_t j = 0; i + j < n; ++j)
    lane[j] += static_cast<double>(x[i + j]) * x[i + j];
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

TINKAF_WIDE void rmsnorm(std::size_t rows, std::size_t width, float eps, const float* x,
                         const float* gain, float* out, float* inverse_rms) {
  for (std::size_t r = 0; r < rows; ++r) {
    const float* in = x + r * width;
    const float sum = lane_sum(width, [in](std::size_t i) { return in[i] * in[i]; });
    const float inverse = 1.0F / std::sqrt(sum / static_cast<float>(width) + eps);
    inverse_rms[r] = inverse;
    float* to = out + r * width;
    for (std::size_t i = 0; i < width; ++i)
      to[i] = in[i] * inverse * gain[i];
  }
}

TINKAF_WIDE void rmsnorm_backward(std::size_t rows, std::size_t width, const float* x,
                                  const float* gain, const float* inverse_rms, const float* dout,
                                  float* dx, float* dgain) {
  for (std::size_t r = 0; r < rows; ++r) {
    const float* in = x + r * width;
    const float* d = dout + r * width;
    const float inverse = inverse_rms[r];
    const float dot = lane_sum(width, [=](std::size_t i) { return d[i] * gain[i] * in[i]; });
    const float pull = dot * inverse * inverse * inverse / static_cast<float>(width);
    float* to = dx + r * width;
    for (std::size_t i = 0; i < width; ++i)
      to[i] += d[i] * gain[i] * inverse - in[i] * pull;
    if (dgain != nullptr)
      for (std::size_t i = 0; i < width; ++i)
        dgain[i] += d[i] * in[i] * inverse;
  }
}

TINKAF_WIDE void headnorm(std::size_t rows, std::size_t heads, std::size_t head_dim, float eps,
                          const float* gain, float* x, std::size_t ld, float* inverse_rms) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t h = 0; h < heads; ++h) {
      float* at = x + r * ld + h * head_dim;
      const float sum = lane_sum(head_dim, [at](std::size_t i) { return at[i] * at[i]; });
      const float inverse = 1.0F / std::sqrt(sum / static_cast<float>(head_dim) + eps);
      inverse_rms[r * heads + h] = inverse;
      for (std::size_t i = 0; i < head_dim; ++i)
        at[i] = at[i] * inverse * gain[i];
    }
}

TINKAF_WIDE void headnorm_backward(std::size_t rows, std::size_t heads, std::size_t head_dim,
                                   const float* x, const float* gain, const float* inverse_rms,
                                   float* d, std::size_t ld, float* dgain) {
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t h = 0; h < heads; ++h) {
      const float* in = x + r * ld + h * head_dim;
      float* at = d + r * ld + h * head_dim;
      const float inverse = inverse_rms[r * heads + h];
      if (dgain != nullptr)
        for (std::size_t i = 0; i < head_dim; ++i)
          dgain[i] += at[i] * in[i] * inverse;
      const float dot = lane_sum(head_dim, [=](std::size_t i) { return at[i] * gain[i] * in[i]; });
      const float pull = dot * inverse * inverse * inverse / static_cast<float>(head_dim);
      for (std::size_t i = 0; i < head_dim; ++i)
        at[i] = at[i] * gain[i] * inverse - in[i] * pull;
    }
}

TINKAF_WIDE void rope(std::size_t rows, std::size_t heads, std::size_t head_dim,
                      const float* cosines, const float* sines, float direction, float* x,
                      std::size_t ld) {
  const std::size_t half = head_dim / 2;
  for (std::size_t r = 0; r < rows; ++r) {
    const float* c = cosines + r * half;
    const float* s = sines + r * half;
    for (std::size_t h = 0; h < heads; ++h) {
      float* low = x + r * ld + h * head_dim;
      float* high = low + half;
      for (std::size_t i = 0; i < half; ++i) {
        const float a = low[i];
        const float b = high[i];
        const float turn = direction * s[i];
        low[i] = a * c[i] - b * turn;
        high[i] = b * c[i] + a * turn;
      }
    }
  }
}

TINKAF_WIDE void causal_softmax(std::size_t rows, std::size_t width, std::size_t first_length,
                                float* x, std::size_t ld) {
  for (std::size_t r = 0; r < rows; ++r) {
    float* row = x + r * ld;
    const std::size_t n = first_length + r;
    const float top = max_of(n, row);
    for (std::size_t i = 0; i < n; ++i)
      row[i] = fast_exp(row[i] - top);
    const float inverse = 1.0F / lane_sum(n, [row](std::size_t i) { return row[i]; });
    for (std::size_t i = 0; i < n; ++i)
      row[i] *= inverse;
    for (std::size_t i = n; i < width; ++i)
      row[i] = 0.0F;
  }
}

TINKAF_WIDE void causal_softmax_backward(std::size_t rows, std::size_t width,
                                         std::size_t first_length, const float* p, float* dp,
                                         std::size_t ld) {
  for (std::size_t r = 0; r < rows; ++r) {
    const float* prob = p + r * ld;
    float* d = dp + r * ld;
    const std::size_t n = first_length + r;
    const float mean = lane_sum(n, [=](std::size_t i) { return prob[i] * d[i]; });
    for (std::size_t i = 0; i < n; ++i)
      d[i] = prob[i] * (d[i] - mean);
    for (std::size_t i = n; i < width; ++i)
      d[i] = 0.0F;
  }
}

TINKAF_WIDE void swiglu(std::size_t rows, std::size_t width, const float* gate, const float* up,
                        std::size_t ld, float* out) {
  for (std::size_t r = 0; r < rows; ++r) {
    const float* g = gate + r * ld;
    const float* u = up + r * ld;
    float* to = out + r * width;
    for (std::size_t i = 0; i < width; ++i)
      to[i] = g[i] / (1.0F + fast_exp(-g[i])) * u[i];
  }
}

TINKAF_WIDE void swiglu_backward(std::size_t rows, std::size_t width, const float* gate,
                                 const float* up, std::size_t ld, const float* dout, float* dgate,
                                 float* dup) {
  for (std::size_t r = 0; r < rows; ++r) {
    const float* g = gate + r * ld;
    const float* u = up + r * ld;
    const float* d = dout + r * width;
    float* dg = dgate + r * ld;
    float* du = dup + r * ld;
    for (std::size_t i = 0; i < width; ++i) {
      const float sigmoid = 1.0F / (1.0F + fast_exp(-g[i]));
      const float silu = g[i] * sigmoid;
      du[i] = d[i] * silu;
      dg[i] = d[i] * u[i] * (sigmoid + silu * (1.0F - sigmoid));
    }
  }
}

TINKAF_WIDE float log_sum_exp(std::size_t n, const float* x) {
  const float top = max_of(n, x);
  return top + std::log(lane_sum(n, [=](std::size_t i) { return fast_exp(x[i] - top); }));
}

TINKAF_WIDE void scaled_exp(std::size_t n, float scale, float shift, float* x) {
  for (std::size_t i = 0; i < n; ++i)
    x[i] = scale * fast_exp(x[i] - shift);
}

TINKAF_WIDE void adamw(std::size_t n, const AdamWStep& step, const float* g, float* theta, float* m,
                       float* v) {
  const AdamWStep s = step;
  for (std::size_t i = 0; i < n; ++i) {
    const float gradient = g[i] * s.gradient_scale;
    const float m_new = s.beta1 * m[i] + s.one_minus_beta1 * gradient;
    const float v_new = s.beta2 * v[i] + s.one_minus_beta2 * gradient * gradient;
    m[i] = m_new;
    v[i] = v_new;
    theta[i] = theta[i] * s.decay
               - s.learning_rate * (m_new / s.bias1) / (std::sqrt(v_new / s.bias2) + s.eps);
  }
}

} // namespace tinkaf::model::kernels

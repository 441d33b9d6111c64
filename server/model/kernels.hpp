// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

/// The arithmetic of the trainer: one matrix product and a handful of elementwise kernels.
///
/// Everything above this header is plain loops over these calls, so another backend has one
/// file to replace. All matrices are row-major float32; `ld` is the distance between rows.
/// Every function is single-threaded, reads and writes only its arguments, and gives the same
/// bits for the same input on the same machine.
namespace tinkaf::model::kernels {

/// Whether a matrix is used as stored or transposed.
enum class Op { plain, transposed };

/// A matrix operand of `gemm`: first element and distance between its rows.
struct Operand {
  const float* data = nullptr;
  std::size_t ld = 0;
  Op op = Op::plain;
};

/// C[m, n] = alpha * op(A)[m, k] * op(B)[k, n] + beta * C.
void gemm(std::size_t m, std::size_t n, std::size_t k, float alpha, Operand a, Operand b,
          float beta, float* c, std::size_t ldc);

/// Keeps the matrix library from starting threads of its own. Call once before any work.
void pin_to_one_thread();

/// Copies bfloat16 as float32, exactly.
void widen_bf16(std::size_t n, const std::uint16_t* from, float* to);

/// y[i] += a * x[i].
void axpy(std::size_t n, float a, const float* x, float* y);

/// Sum of x[i] * y[i].
float dot(std::size_t n, const float* x, const float* y);

/// Sum of x[i]^2, in double precision.
double squared_norm(std::size_t n, const float* x);

/// out = x / rms(x) * gain for each of `rows` rows of length `width`.
/// `inverse_rms`, [rows], is kept for the backward pass.
void rmsnorm(std::size_t rows, std::size_t width, float eps, const float* x, const float* gain,
             float* out, float* inverse_rms);

/// Adds the gradient of `rmsnorm` with respect to x to `dx`, and to the gain if `dgain` is set.
void rmsnorm_backward(std::size_t rows, std::size_t width, const float* x, const float* gain,
                      const float* inverse_rms, const float* dout, float* dx, float* dgain);

/// `rmsnorm` of each head of a row in place; `gain` is [head_dim] and the same for all heads.
/// `inverse_rms` is [rows, heads].
void headnorm(std::size_t rows, std::size_t heads, std::size_t head_dim, float eps,
              const float* gain, float* x, std::size_t ld, float* inverse_rms);

/// Turns `d`, the gradient of what `headnorm` gave, into the gradient of what it was given, in
/// place. `x` is what it was given; both are rows of distance `ld`. Adds to `dgain` if it is set.
void headnorm_backward(std::size_t rows, std::size_t heads, std::size_t head_dim, const float* x,
                       const float* gain, const float* inverse_rms, float* d, std::size_t ld,
                       float* dgain);

/// Rotates each head of a row by its position's angles (first half paired with second half).
/// `cosines` and `sines` are [rows, head_dim / 2], already at the rows' positions.
/// `direction` is +1 for the forward pass, -1 for its gradient.
void rope(std::size_t rows, std::size_t heads, std::size_t head_dim, const float* cosines,
          const float* sines, float direction, float* x, std::size_t ld);

/// Softmax over the first `first_length + r` entries of row r, zero from there to `width`.
void causal_softmax(std::size_t rows, std::size_t width, std::size_t first_length, float* x,
                    std::size_t ld);

/// Turns `dp`, the gradient of probabilities `p`, into the gradient of the scores, in place.
/// Only the first `first_length + r` entries of row r count; the rest become zero.
void causal_softmax_backward(std::size_t rows, std::size_t width, std::size_t first_length,
                             const float* p, float* dp, std::size_t ld);

/// out[r, i] = silu(gate[r, i]) * up[r, i]; gate and up are rows of distance `ld`.
void swiglu(std::size_t rows, std::size_t width, const float* gate, const float* up, std::size_t ld,
            float* out);

/// Gradient of `swiglu`: writes dgate and dup (rows of distance `ld`).
void swiglu_backward(std::size_t rows, std::size_t width, const float* gate, const float* up,
                     std::size_t ld, const float* dout, float* dgate, float* dup);

/// log(sum(exp(x))) of one row, shifted by its maximum.
float log_sum_exp(std::size_t n, const float* x);

/// x[i] = scale * exp(x[i] - shift).
void scaled_exp(std::size_t n, float scale, float shift, float* x);

/// The numbers of one AdamW step that are the same for all parameters.
struct AdamWStep {
  float gradient_scale = 1.0F; ///< what clipping multiplies the gradient with
  float decay = 1.0F;          ///< 1 - learning_rate * weight_decay
  float beta1 = 0.9F;
  float one_minus_beta1 = 0.1F;
  float beta2 = 0.95F;
  float one_minus_beta2 = 0.05F;
  float learning_rate = 1e-4F;
  float bias1 = 1.0F; ///< 1 - beta1^t
  float bias2 = 1.0F; ///< 1 - beta2^t
  float eps = 1e-12F;
};

/// One AdamW step over n parameters with gradient g, moments m and v.
void adamw(std::size_t n, const AdamWStep& step, const float* g, float* theta, float* m, float* v);

/// The largest scaled error of each kernel against a double-precision reference.
struct SelfTestReport {
  double worst_error = 0.0;
  const char* worst_kernel = "";
};

/// Compares the kernels with plain double-precision loops over a spread of shapes.
/// Takes a few milliseconds. An error above `self_test_limit` means that results are wrong.
SelfTestReport self_test();

/// What `self_test` may report on a machine that computes correctly.
inline constexpr double self_test_limit = 2e-5;

} // namespace tinkaf::model::kernels

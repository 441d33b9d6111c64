// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

/// Products with the matrices of a base model, which are float32 or stay packed as bfloat16.
///
/// Both give the same bits: a bfloat16 is widened exactly before it is multiplied. The bits do not
/// depend on the number of threads either, since the pieces that threads share out are always the
/// same ones.
namespace tinkaf::model {

class ThreadPool;

/// A matrix of weights [out, in], row by row; one of the two is set. Borrowed.
struct Weights {
  const float* f32 = nullptr;
  const std::uint16_t* bf16 = nullptr;

  /// The matrix that begins at this element.
  [[nodiscard]] Weights at(std::size_t element) const noexcept {
    return {f32 != nullptr ? f32 + element : nullptr, bf16 != nullptr ? bf16 + element : nullptr};
  }
};

/// y[rows, out] = x[rows, in] * W[out, in]^T, plus what y held if `add`.
/// @param pool helpers; null for none
void linear(ThreadPool* pool, std::size_t rows, std::size_t in, std::size_t out, const float* x,
            Weights w, float* y, bool add = false);

/// dx[rows, in] = dy[rows, out] * W[out, in].
void linear_backward(ThreadPool* pool, std::size_t rows, std::size_t in, std::size_t out,
                     const float* dy, Weights w, float* dx);

/// Copies n elements as float32.
void widen(std::size_t n, Weights from, float* to);

} // namespace tinkaf::model

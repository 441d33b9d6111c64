// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/tensor_data.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

// Formulas that know their derivatives: write a loss with `Var` as with numbers, then ask for its
// gradients. A `Var` is a scalar or a whole vector, so that a loss over hundreds of thousands of
// log-probabilities is a few nodes.
//
// Every operation works element by element unless it says otherwise, and a scalar goes together
// with a vector of any length. All is computed at once, in double precision.
//
// A tape and its variables belong to one thread at a time; tapes know nothing of each other.

namespace tinkaf::losses {

namespace detail {
class Graph;
struct Access;
} // namespace detail

/// A formula that makes no sense: vectors of different lengths, variables of two tapes, an element
/// that is not there. `custom_loss` turns it into an `Error`.
class FormulaError : public std::invalid_argument {
public:
  using std::invalid_argument::invalid_argument;
};

/// A number or a vector on a tape. Cheap to copy; keeps its tape alive.
class Var {
public:
  /// On no tape; using it throws.
  Var() = default;

  /// True for a number, false for a vector, even of one element.
  [[nodiscard]] bool is_scalar() const;

  /// Number of elements; 1 for a scalar.
  [[nodiscard]] std::size_t size() const;

  /// The number. Throws for a vector.
  [[nodiscard]] double value() const;

  /// The elements, valid as long as any variable of the tape.
  [[nodiscard]] std::span<const double> values() const;

private:
  friend struct detail::Access;

  std::shared_ptr<detail::Graph> graph_;
  std::uint32_t index_ = 0;
};

/// Where a formula is written down. One for each evaluation.
class Tape {
public:
  Tape();

  /// What gradients can be asked for.
  [[nodiscard]] Var variable(double value);
  [[nodiscard]] Var variable(std::span<const double> values);
  [[nodiscard]] Var variable(std::span<const float> values);

  /// What is given: weights, advantages, logprobs of a reference.
  [[nodiscard]] Var constant(double value);
  [[nodiscard]] Var constant(std::span<const double> values);
  [[nodiscard]] Var constant(std::span<const float> values);

  /// The elements of a tensor of any element type, dense or sparse, row by row.
  [[nodiscard]] Var constant(const TensorData& tensor);

private:
  template <class T>
  Var leaf(bool active, bool scalar, std::span<const T> values);

  std::shared_ptr<detail::Graph> graph_;
};

/// Derivatives of the scalar `y` by each variable of `of`, with the sizes of these; zeros where `y`
/// does not depend on it. They are formulas themselves: derivatives of any order are exact.
///
/// At a kink one side's derivative is taken: 0 for `abs` and `relu` at 0, 1 for `clamp` on a bound,
/// the first argument's for `min` and `max`. Zero times an infinite slope counts as zero.
[[nodiscard]] std::vector<Var> gradients(const Var& y, std::span<const Var> of);

/// The same number or vector, as a constant: no gradient flows through it.
[[nodiscard]] Var detach(const Var& x);

// --- arithmetic ----------------------------------------------------------------------------------

[[nodiscard]] Var operator-(const Var& x);
[[nodiscard]] Var operator+(const Var& a, const Var& b);
[[nodiscard]] Var operator+(const Var& a, double b);
[[nodiscard]] Var operator+(double a, const Var& b);
[[nodiscard]] Var operator-(const Var& a, const Var& b);
[[nodiscard]] Var operator-(const Var& a, double b);
[[nodiscard]] Var operator-(double a, const Var& b);
[[nodiscard]] Var operator*(const Var& a, const Var& b);
[[nodiscard]] Var operator*(const Var& a, double b);
[[nodiscard]] Var operator*(double a, const Var& b);
[[nodiscard]] Var operator/(const Var& a, const Var& b);
[[nodiscard]] Var operator/(const Var& a, double b);
[[nodiscard]] Var operator/(double a, const Var& b);

// --- functions -----------------------------------------------------------------------------------

[[nodiscard]] Var exp(const Var& x);
[[nodiscard]] Var log(const Var& x);
[[nodiscard]] Var log1p(const Var& x);
[[nodiscard]] Var expm1(const Var& x);
[[nodiscard]] Var sqrt(const Var& x);
[[nodiscard]] Var abs(const Var& x);
[[nodiscard]] Var square(const Var& x);
[[nodiscard]] Var pow(const Var& x, double exponent);
[[nodiscard]] Var sigmoid(const Var& x);
[[nodiscard]] Var tanh(const Var& x);
[[nodiscard]] Var relu(const Var& x);

/// ln(sigmoid(x)), without overflow.
[[nodiscard]] Var log_sigmoid(const Var& x);

[[nodiscard]] Var min(const Var& a, const Var& b);
[[nodiscard]] Var min(const Var& a, double b);
[[nodiscard]] Var max(const Var& a, const Var& b);
[[nodiscard]] Var max(const Var& a, double b);

/// `x`, but `low` where it is below and `high` where it is above. Throws unless `low <= high`.
[[nodiscard]] Var clamp(const Var& x, double low, double high);

// --- choice --------------------------------------------------------------------------------------

/// 1 where `a` is above `b`, else 0; a constant.
[[nodiscard]] Var greater(const Var& a, const Var& b);
[[nodiscard]] Var greater(const Var& a, double b);

/// `a` where `mask` is not 0, else `b`; neither values nor gradients of the other count. The mask
/// must be a constant.
[[nodiscard]] Var where(const Var& mask, const Var& a, const Var& b);
[[nodiscard]] Var where(const Var& mask, const Var& a, double b);

// --- from vectors to numbers ---------------------------------------------------------------------

[[nodiscard]] Var sum(const Var& x);

/// Throws for a vector without elements.
[[nodiscard]] Var mean(const Var& x);

/// Sum of products; both of one size. Also the weighted sum of a vector.
[[nodiscard]] Var dot(const Var& a, const Var& b);

/// Sum of the elements where `mask` is not 0; 0 if there are none.
[[nodiscard]] Var masked_sum(const Var& x, const Var& mask);

/// ln of the sum of exp(x), without overflow. Throws for a vector without elements.
[[nodiscard]] Var logsumexp(const Var& x);

// --- parts and rows ------------------------------------------------------------------------------

/// The vector of `size` times the scalar `x`.
[[nodiscard]] Var fill(const Var& x, std::size_t size);

/// The elements from `begin` on, as a vector. Throws if there are not so many.
[[nodiscard]] Var slice(const Var& x, std::size_t begin, std::size_t count);

/// One element, as a scalar. Throws if it is not there.
[[nodiscard]] Var element(const Var& x, std::size_t index);

/// All elements of numbers and vectors in one vector. Throws if there are no parts.
[[nodiscard]] Var join(std::span<const Var> parts);

/// Of a vector that stands for rows of `columns` elements: the sum of each row.
[[nodiscard]] Var row_sum(const Var& x, std::size_t columns);

/// Each element `columns` times: what `row_sum` takes, the other way round.
[[nodiscard]] Var row_repeat(const Var& x, std::size_t columns);

/// Like `logsumexp`, of each row.
[[nodiscard]] Var row_logsumexp(const Var& x, std::size_t columns);

/// Product of the matrices [m, inner] and [inner, n], row by row: a vector that stands for [m, n].
[[nodiscard]] Var matmul(const Var& a, const Var& b, std::size_t inner);

/// The matrix of so many columns the other way round.
[[nodiscard]] Var transpose(const Var& x, std::size_t columns);

} // namespace tinkaf::losses

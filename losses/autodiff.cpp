// SPDX-License-Identifier: Apache-2.0
#include "losses/autodiff.hpp"

#include "losses/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

namespace tinkaf::losses {

namespace detail {

/// The one way from a variable to its graph and back.
struct Access {
  static Graph& graph(const Var& x) {
    if (!x.graph_)
      throw FormulaError{"a variable that was never set is used"};
    return *x.graph_;
  }

  /// The graph that both are on.
  static Graph& graph(const Var& a, const Var& b) {
    if (&graph(a) != &graph(b))
      throw FormulaError{"variables of two tapes are used together"};
    return *a.graph_;
  }

  static Index index(const Var& x) {
    return x.index_;
  }

  static const Node& node(const Var& x) {
    return graph(x).at(x.index_);
  }

  static Var make(const std::shared_ptr<Graph>& graph, Index index) {
    Var out;
    out.graph_ = graph;
    out.index_ = index;
    return out;
  }

  /// A variable on the same tape as `x`.
  static Var like(const Var& x, Index index) {
    return make(x.graph_, index);
  }
};

} // namespace detail

namespace {

using detail::Access;
using detail::Index;
using detail::Op;

Var unary(Op op, const Var& x, double low = 0.0, double high = 0.0) {
  return Access::like(x, Access::graph(x).unary(op, Access::index(x), low, high));
}

Var binary(Op op, const Var& a, const Var& b) {
  return Access::like(a, Access::graph(a, b).binary(op, Access::index(a), Access::index(b)));
}

Var number(const Var& like, double value) {
  return Access::like(like, Access::graph(like).constant(value));
}

Var binary(Op op, const Var& a, double b) {
  return binary(op, a, number(a, b));
}

Var binary(Op op, double a, const Var& b) {
  return binary(op, number(b, a), b);
}

/// The largest element of each row if it is finite, else 0; as a constant.
Var row_max(const Var& x, std::size_t columns) {
  if (columns == 0 || x.size() % columns != 0)
    throw FormulaError{
        fmt::format("a vector of {} elements does not make rows of {}", x.size(), columns)};
  auto& graph = Access::graph(x);
  const auto out = graph.leaf(Op::constant, false, x.size() / columns);
  for (std::size_t row = 0; row < x.size() / columns; ++row) {
    const auto elements = x.values().subspan(row * columns, columns);
    const auto largest = *std::max_element(elements.begin(), elements.end());
    graph.values(out)[row] = std::isfinite(largest) ? largest : 0.0;
  }
  return Access::like(x, out);
}

} // namespace

bool Var::is_scalar() const {
  return Access::node(*this).scalar;
}

std::size_t Var::size() const {
  return Access::node(*this).values.size();
}

double Var::value() const {
  if (!is_scalar())
    throw FormulaError{fmt::format("a vector of {} elements stands where a number is needed; "
                                   "take its sum or mean",
                                   size())};
  return values()[0];
}

std::span<const double> Var::values() const {
  return Access::node(*this).values;
}

Tape::Tape() : graph_(std::make_shared<detail::Graph>()) {}

template <class T>
Var Tape::leaf(bool active, bool scalar, std::span<const T> values) {
  const auto out = graph_->leaf(active ? Op::variable : Op::constant, scalar, values.size());
  std::copy(values.begin(), values.end(), graph_->values(out).begin());
  return Access::make(graph_, out);
}

Var Tape::variable(double value) {
  return leaf(true, true, std::span<const double>{&value, 1});
}

Var Tape::variable(std::span<const double> values) {
  return leaf(true, false, values);
}

Var Tape::variable(std::span<const float> values) {
  return leaf(true, false, values);
}

Var Tape::constant(double value) {
  return leaf(false, true, std::span<const double>{&value, 1});
}

Var Tape::constant(std::span<const double> values) {
  return leaf(false, false, values);
}

Var Tape::constant(std::span<const float> values) {
  return leaf(false, false, values);
}

Var Tape::constant(const TensorData& tensor) {
  if (tensor.sparse) {
    if (const auto good = validate(tensor, "a sparse tensor"); !good)
      throw FormulaError{good.error().message};
    return constant(to_dense(tensor));
  }
  return std::visit([&](const auto& values) { return leaf(false, false, std::span{values}); },
                    tensor.data);
}

std::vector<Var> gradients(const Var& y, std::span<const Var> of) {
  static_cast<void>(y.value()); // a scalar
  std::vector<Index> indices;
  indices.reserve(of.size());
  for (const auto& x : of) {
    static_cast<void>(Access::graph(y, x));
    indices.push_back(Access::index(x));
  }
  std::vector<Var> out;
  out.reserve(of.size());
  for (const auto index : Access::graph(y).gradients(Access::index(y), indices))
    out.push_back(Access::like(y, index));
  return out;
}

Var detach(const Var& x) {
  auto& graph = Access::graph(x);
  const auto out = graph.leaf(Op::constant, x.is_scalar(), x.size());
  std::copy(x.values().begin(), x.values().end(), graph.values(out).begin());
  return Access::like(x, out);
}

// --- arithmetic ----------------------------------------------------------------------------------

Var operator-(const Var& x) {
  return unary(Op::negate, x);
}

Var operator+(const Var& a, const Var& b) {
  return binary(Op::add, a, b);
}

Var operator+(const Var& a, double b) {
  return binary(Op::add, a, b);
}

Var operator+(double a, const Var& b) {
  return binary(Op::add, a, b);
}

Var operator-(const Var& a, const Var& b) {
  return binary(Op::subtract, a, b);
}

Var operator-(const Var& a, double b) {
  return binary(Op::subtract, a, b);
}

Var operator-(double a, const Var& b) {
  return binary(Op::subtract, a, b);
}

Var operator*(const Var& a, const Var& b) {
  return binary(Op::multiply, a, b);
}

Var operator*(const Var& a, double b) {
  return binary(Op::multiply, a, b);
}

Var operator*(double a, const Var& b) {
  return binary(Op::multiply, a, b);
}

Var operator/(const Var& a, const Var& b) {
  return binary(Op::divide, a, b);
}

Var operator/(const Var& a, double b) {
  return binary(Op::divide, a, b);
}

Var operator/(double a, const Var& b) {
  return binary(Op::divide, a, b);
}

// --- functions -----------------------------------------------------------------------------------

Var exp(const Var& x) {
  return unary(Op::exp, x);
}

Var log(const Var& x) {
  return unary(Op::log, x);
}

Var log1p(const Var& x) {
  return unary(Op::log1p, x);
}

Var expm1(const Var& x) {
  return unary(Op::expm1, x);
}

Var sqrt(const Var& x) {
  return unary(Op::sqrt, x);
}

Var abs(const Var& x) {
  return unary(Op::abs, x);
}

Var square(const Var& x) {
  return unary(Op::square, x);
}

Var pow(const Var& x, double exponent) {
  return unary(Op::power, x, exponent);
}

Var sigmoid(const Var& x) {
  return unary(Op::sigmoid, x);
}

Var tanh(const Var& x) {
  return unary(Op::tanh, x);
}

Var relu(const Var& x) {
  return unary(Op::relu, x);
}

Var log_sigmoid(const Var& x) {
  return unary(Op::log_sigmoid, x);
}

Var min(const Var& a, const Var& b) {
  return binary(Op::minimum, a, b);
}

Var min(const Var& a, double b) {
  return binary(Op::minimum, a, b);
}

Var max(const Var& a, const Var& b) {
  return binary(Op::maximum, a, b);
}

Var max(const Var& a, double b) {
  return binary(Op::maximum, a, b);
}

Var clamp(const Var& x, double low, double high) {
  if (!(low <= high))
    throw FormulaError{
        fmt::format("clamp: the low bound {} is not below the high one, {}", low, high)};
  return unary(Op::clamp, x, low, high);
}

// --- choice --------------------------------------------------------------------------------------

Var greater(const Var& a, const Var& b) {
  return binary(Op::above, a, b);
}

Var greater(const Var& a, double b) {
  return binary(Op::above, a, b);
}

Var where(const Var& mask, const Var& a, const Var& b) {
  static_cast<void>(Access::graph(mask, a));
  return Access::like(
      a, Access::graph(a, b).select(Access::index(mask), Access::index(a), Access::index(b)));
}

Var where(const Var& mask, const Var& a, double b) {
  return where(mask, a, number(a, b));
}

// --- from vectors to numbers ---------------------------------------------------------------------

Var sum(const Var& x) {
  return Access::like(x, Access::graph(x).sum(Access::index(x)));
}

Var mean(const Var& x) {
  if (x.size() == 0)
    throw FormulaError{"the mean of no elements is asked for"};
  return sum(x) / static_cast<double>(x.size());
}

Var dot(const Var& a, const Var& b) {
  if (a.size() != b.size())
    throw FormulaError{fmt::format("dot: {} elements do not go with {}", a.size(), b.size())};
  return sum(a * b);
}

Var masked_sum(const Var& x, const Var& mask) {
  return sum(where(mask, x, 0.0));
}

Var logsumexp(const Var& x) {
  if (x.size() == 0)
    throw FormulaError{"the logsumexp of no elements is asked for"};
  if (x.is_scalar())
    return x;
  return sum(row_logsumexp(x, x.size()));
}

// --- parts and rows ------------------------------------------------------------------------------

Var fill(const Var& x, std::size_t size) {
  static_cast<void>(x.value()); // a scalar
  return Access::like(x, Access::graph(x).fill(Access::index(x), size));
}

Var slice(const Var& x, std::size_t begin, std::size_t count) {
  return Access::like(x, Access::graph(x).slice(Access::index(x), begin, count, false));
}

Var element(const Var& x, std::size_t index) {
  return Access::like(x, Access::graph(x).slice(Access::index(x), index, 1, true));
}

Var join(std::span<const Var> parts) {
  if (parts.empty())
    throw FormulaError{"join: there are no parts"};
  std::vector<Index> indices;
  indices.reserve(parts.size());
  for (const auto& part : parts) {
    static_cast<void>(Access::graph(parts[0], part));
    indices.push_back(Access::index(part));
  }
  return Access::like(parts[0], Access::graph(parts[0]).join(indices));
}

Var row_sum(const Var& x, std::size_t columns) {
  return Access::like(x, Access::graph(x).row_sum(Access::index(x), columns));
}

Var row_repeat(const Var& x, std::size_t columns) {
  return Access::like(x, Access::graph(x).row_repeat(Access::index(x), columns));
}

Var row_logsumexp(const Var& x, std::size_t columns) {
  const auto largest = row_max(x, columns);
  return log(row_sum(exp(x - row_repeat(largest, columns)), columns)) + largest;
}

Var matmul(const Var& a, const Var& b, std::size_t inner) {
  return Access::like(a, Access::graph(a, b).matmul(Access::index(a), Access::index(b), inner));
}

Var transpose(const Var& x, std::size_t columns) {
  return Access::like(x, Access::graph(x).transpose(Access::index(x), columns));
}

} // namespace tinkaf::losses

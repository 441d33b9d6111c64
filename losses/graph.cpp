// SPDX-License-Identifier: Apache-2.0
#include "losses/graph.hpp"

#include "losses/autodiff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <new>

namespace tinkaf::losses::detail {

namespace {

double sigmoid(double x) {
  if (x >= 0.0)
    return 1.0 / (1.0 + std::exp(-x));
  const auto e = std::exp(x);
  return e / (1.0 + e);
}

double log_sigmoid(double x) {
  return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x)));
}

template <class F>
void map(std::span<const double> in, std::span<double> out, F f) {
  std::transform(in.begin(), in.end(), out.begin(), f);
}

/// Writes f(a, b) for each element; a scalar stands for as many as are needed.
template <class F>
void zip(const Node& a, const Node& b, std::span<double> out, F f) {
  if (a.scalar)
    map(b.values, out, [f, x = a.values[0]](double y) { return f(x, y); });
  else if (b.scalar)
    map(a.values, out, [f, y = b.values[0]](double x) { return f(x, y); });
  else
    std::transform(a.values.begin(), a.values.end(), b.values.begin(), out.begin(), f);
}

void evaluate(const Node& in, Node& out) {
  const auto to = out.values;
  switch (out.op) {
  case Op::negate:
    return map(in.values, to, [](double x) { return -x; });
  case Op::exp:
    return map(in.values, to, [](double x) { return std::exp(x); });
  case Op::log:
    return map(in.values, to, [](double x) { return std::log(x); });
  case Op::log1p:
    return map(in.values, to, [](double x) { return std::log1p(x); });
  case Op::expm1:
    return map(in.values, to, [](double x) { return std::expm1(x); });
  case Op::sqrt:
    return map(in.values, to, [](double x) { return std::sqrt(x); });
  case Op::abs:
    return map(in.values, to, [](double x) { return std::abs(x); });
  case Op::square:
    return map(in.values, to, [](double x) { return x * x; });
  case Op::power:
    return map(in.values, to, [p = out.low](double x) { return std::pow(x, p); });
  case Op::sigmoid:
    return map(in.values, to, sigmoid);
  case Op::log_sigmoid:
    return map(in.values, to, log_sigmoid);
  case Op::tanh:
    return map(in.values, to, [](double x) { return std::tanh(x); });
  case Op::relu: // NaN stays NaN
    return map(in.values, to, [](double x) { return x <= 0.0 ? 0.0 : x; });
  case Op::clamp:
    return map(in.values, to, [low = out.low, high = out.high](double x) {
      return x < low ? low : x > high ? high : x;
    });
  default:
    throw FormulaError{"not an operation of one input"};
  }
}

void evaluate(const Node& a, const Node& b, Node& out) {
  const auto to = out.values;
  switch (out.op) {
  case Op::add:
    return zip(a, b, to, [](double x, double y) { return x + y; });
  case Op::subtract:
    return zip(a, b, to, [](double x, double y) { return x - y; });
  case Op::multiply:
    return zip(a, b, to, [](double x, double y) { return x * y; });
  case Op::divide:
    return zip(a, b, to, [](double x, double y) { return x / y; });
  case Op::chain:
    return zip(a, b, to, [](double x, double y) { return x == 0.0 || y == 0.0 ? 0.0 : x * y; });
  case Op::minimum: // NaN on either side stays NaN
    return zip(a, b, to, [](double x, double y) { return std::isnan(x) || x <= y ? x : y; });
  case Op::maximum:
    return zip(a, b, to, [](double x, double y) { return std::isnan(x) || x >= y ? x : y; });
  case Op::above:
    return zip(a, b, to, [](double x, double y) { return x > y ? 1.0 : 0.0; });
  default:
    throw FormulaError{"not an operation of two inputs"};
  }
}

} // namespace

Index Graph::add(Op op, bool scalar, std::size_t size, std::initializer_list<Index> inputs) {
  Node node{.op = op, .scalar = scalar};
  std::copy(inputs.begin(), inputs.end(), node.inputs);
  node.active = std::any_of(inputs.begin(), inputs.end(), [&](Index i) { return at(i).active; });
  if (size > 0) {
    auto* memory = arena_.allocate(size * sizeof(double), alignof(double));
    node.values = {static_cast<double*>(memory), size};
  }
  nodes_.push_back(node);
  return static_cast<Index>(nodes_.size() - 1);
}

Index Graph::leaf(Op op, bool scalar, std::size_t size) {
  const auto out = add(op, scalar, size, {});
  nodes_[out].active = op == Op::variable;
  return out;
}

Index Graph::constant(double value) {
  const auto out = leaf(Op::constant, true, 1);
  nodes_[out].values[0] = value;
  return out;
}

Index Graph::unary(Op op, Index a, double low, double high) {
  const auto out = add(op, at(a).scalar, at(a).values.size(), {a});
  nodes_[out].low = low;
  nodes_[out].high = high;
  evaluate(nodes_[a], nodes_[out]);
  return out;
}

Index Graph::binary(Op op, Index a, Index b) {
  const auto& x = at(a);
  const auto& y = at(b);
  if (!x.scalar && !y.scalar && x.values.size() != y.values.size())
    throw FormulaError{fmt::format("vectors of {} and of {} elements do not go together",
                                   x.values.size(), y.values.size())};
  const auto size = x.scalar ? y.values.size() : x.values.size();
  const auto out = add(op, x.scalar && y.scalar, size, {a, b});
  if (op == Op::above)
    nodes_[out].active = false;
  evaluate(nodes_[a], nodes_[b], nodes_[out]);
  return out;
}

Index Graph::select(Index mask, Index a, Index b) {
  if (at(mask).active)
    throw FormulaError{"a mask depends on the log-probabilities; detach it"};
  const auto scalar = at(mask).scalar;
  const auto size = at(mask).values.size();
  for (const auto i : {a, b})
    if (!at(i).scalar && (scalar || at(i).values.size() != size))
      throw FormulaError{fmt::format("a mask of {} elements does not go with {} elements", size,
                                     at(i).values.size())};
  const auto out = add(Op::select, scalar, size, {mask, a, b});
  const auto& from = nodes_[a];
  const auto& other = nodes_[b];
  for (std::size_t i = 0; i < size; ++i)
    values(out)[i] = at(mask).values[i] != 0.0 ? from.values[from.scalar ? 0 : i]
                                               : other.values[other.scalar ? 0 : i];
  return out;
}

Index Graph::sum(Index a) {
  if (at(a).scalar)
    return a;
  const auto out = add(Op::sum, true, 1, {a});
  auto total = 0.0;
  for (const auto x : at(a).values)
    total += x;
  values(out)[0] = total;
  return out;
}

Index Graph::fill(Index a, std::size_t size) {
  const auto out = add(Op::fill, false, size, {a});
  std::fill(values(out).begin(), values(out).end(), at(a).values[0]);
  return out;
}

Index Graph::slice(Index a, std::size_t offset, std::size_t size, bool scalar) {
  const auto available = at(a).values.size();
  if (offset > available || size > available - offset)
    throw FormulaError{fmt::format("elements {} to {} of a vector of {} were asked for", offset,
                                   offset + size, available)};
  const auto out = add(Op::slice, scalar, size, {a});
  nodes_[out].offset = offset;
  map(at(a).values.subspan(offset, size), values(out), [](double x) { return x; });
  return out;
}

Index Graph::pad(Index a, std::size_t offset, std::size_t size) {
  const auto out = add(Op::pad, false, size, {a});
  nodes_[out].offset = offset;
  std::fill(values(out).begin(), values(out).end(), 0.0);
  std::copy(at(a).values.begin(), at(a).values.end(), values(out).begin() + offset);
  return out;
}

Index Graph::join(std::span<const Index> parts) {
  std::size_t size = 0;
  for (const auto part : parts)
    size += at(part).values.size();
  const auto out = add(Op::join, false, size, {});
  auto* kept = static_cast<Index*>(arena_.allocate(parts.size_bytes() + 1, alignof(Index)));
  std::uninitialized_copy(parts.begin(), parts.end(), kept);
  nodes_[out].parts = {kept, parts.size()};
  auto to = values(out).begin();
  for (const auto part : parts) {
    to = std::copy(at(part).values.begin(), at(part).values.end(), to);
    nodes_[out].active = nodes_[out].active || at(part).active;
  }
  return out;
}

Index Graph::row_sum(Index a, std::size_t columns) {
  if (columns == 0 || at(a).values.size() % columns != 0)
    throw FormulaError{fmt::format("a vector of {} elements does not make rows of {}",
                                   at(a).values.size(), columns)};
  const auto out = add(Op::row_sum, false, at(a).values.size() / columns, {a});
  nodes_[out].offset = columns;
  for (std::size_t row = 0; row < values(out).size(); ++row) {
    auto total = 0.0;
    for (const auto x : at(a).values.subspan(row * columns, columns))
      total += x;
    values(out)[row] = total;
  }
  return out;
}

Index Graph::row_repeat(Index a, std::size_t columns) {
  const auto out = add(Op::row_repeat, false, at(a).values.size() * columns, {a});
  nodes_[out].offset = columns;
  auto to = values(out).begin();
  for (const auto x : at(a).values)
    to = std::fill_n(to, columns, x);
  return out;
}

Index Graph::matmul(Index a, Index b, std::size_t inner) {
  if (inner == 0 || at(a).values.size() % inner != 0 || at(b).values.size() % inner != 0)
    throw FormulaError{fmt::format("{} and {} elements do not make matrices that meet in {}",
                                   at(a).values.size(), at(b).values.size(), inner)};
  const auto rows = at(a).values.size() / inner;
  const auto columns = at(b).values.size() / inner;
  const auto out = add(Op::matmul, false, rows * columns, {a, b});
  nodes_[out].offset = inner;
  std::fill(values(out).begin(), values(out).end(), 0.0);
  for (std::size_t row = 0; row < rows; ++row) {
    auto* to = values(out).data() + row * columns;
    for (std::size_t i = 0; i < inner; ++i) {
      const auto x = at(a).values[row * inner + i];
      const auto* from = at(b).values.data() + i * columns;
      for (std::size_t column = 0; column < columns; ++column)
        to[column] += x * from[column];
    }
  }
  return out;
}

Index Graph::transpose(Index a, std::size_t columns) {
  if (columns == 0 || at(a).values.size() % columns != 0)
    throw FormulaError{fmt::format("a vector of {} elements does not make rows of {}",
                                   at(a).values.size(), columns)};
  const auto rows = at(a).values.size() / columns;
  const auto out = add(Op::transpose, false, at(a).values.size(), {a});
  nodes_[out].offset = columns;
  for (std::size_t row = 0; row < rows; ++row)
    for (std::size_t column = 0; column < columns; ++column)
      values(out)[column * rows + row] = at(a).values[row * columns + column];
  return out;
}

} // namespace tinkaf::losses::detail

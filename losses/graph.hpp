// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

// What stands behind `Var`: include losses/autodiff.hpp instead.

namespace tinkaf::losses::detail {

using Index = std::uint32_t;

enum class Op : std::uint8_t {
  variable,
  constant,
  add,
  subtract,
  multiply,
  divide,
  /// A product in which zero times anything is zero: how derivatives are multiplied.
  chain,
  minimum,
  maximum,
  /// 1 where the first input is above the second, else 0; has no derivative.
  above,
  /// The second input where the first is not zero, else the third.
  select,
  negate,
  exp,
  log,
  log1p,
  expm1,
  sqrt,
  abs,
  square,
  /// The input to the power `low`.
  power,
  sigmoid,
  log_sigmoid,
  tanh,
  relu,
  /// The input within [low, high].
  clamp,
  sum,
  /// A scalar, `size` times.
  fill,
  /// Elements from `offset` on.
  slice,
  /// The input at `offset` among zeros.
  pad,
  /// The inputs in `parts`, one after the other.
  join,
  /// Sums of `offset` neighbours.
  row_sum,
  /// Each element `offset` times.
  row_repeat,
  /// [rows, offset] times [offset, columns].
  matmul,
  /// Of a matrix of `offset` columns.
  transpose,
};

struct Node {
  Op op = Op::constant;
  bool scalar = false;

  /// Depends on a variable.
  bool active = false;

  Index inputs[3] = {};
  double low = 0.0;
  double high = 0.0;
  std::size_t offset = 0;
  std::span<const Index> parts;
  std::span<double> values;
};

/// Everything that a formula computes, in order; inputs stand before what uses them.
class Graph {
public:
  [[nodiscard]] const Node& at(Index index) const {
    return nodes_[index];
  }

  /// A node whose values are still to be written.
  Index leaf(Op op, bool scalar, std::size_t size);
  Index constant(double value);

  [[nodiscard]] std::span<double> values(Index index) {
    return nodes_[index].values;
  }

  /// @param low, high what the operation calls so
  Index unary(Op op, Index a, double low = 0.0, double high = 0.0);

  /// Both of one size, or one of them a scalar.
  Index binary(Op op, Index a, Index b);
  Index select(Index mask, Index a, Index b);

  Index sum(Index a);
  Index fill(Index a, std::size_t size);
  Index slice(Index a, std::size_t offset, std::size_t size, bool scalar);
  Index pad(Index a, std::size_t offset, std::size_t size);
  Index join(std::span<const Index> parts);
  Index row_sum(Index a, std::size_t columns);
  Index row_repeat(Index a, std::size_t columns);
  Index matmul(Index a, Index b, std::size_t inner);
  Index transpose(Index a, std::size_t columns);

  /// Derivatives of the scalar `y` by each of `of`, as new nodes of the same sizes.
  std::vector<Index> gradients(Index y, std::span<const Index> of);

private:
  /// Adds a node that depends on `inputs`.
  Index add(Op op, bool scalar, std::size_t size, std::initializer_list<Index> inputs);

  std::pmr::monotonic_buffer_resource arena_{std::size_t{1} << 16};
  std::vector<Node> nodes_;
};

} // namespace tinkaf::losses::detail

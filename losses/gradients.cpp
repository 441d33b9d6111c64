// SPDX-License-Identifier: Apache-2.0
#include "losses/graph.hpp"

#include <cmath>

namespace tinkaf::losses::detail {

namespace {

/// Walks a graph backwards. Derivatives are nodes themselves, so that they have derivatives, too.
///
/// A derivative of a vector may be kept as a scalar that stands for all elements.
class Backward {
public:
  Backward(Graph& graph, Index y) : graph_(graph), found_(std::size_t{y} + 1) {
    found_[y] = graph.constant(1.0);
  }

  void run() {
    for (auto index = found_.size(); index-- > 0;) {
      const auto node = graph_.at(static_cast<Index>(index)); // a copy: the graph grows
      if (node.active && found_[index])
        pass_on(node, static_cast<Index>(index), *found_[index]);
    }
  }

  Index of(Index x) {
    const auto size = graph_.at(x).values.size();
    const auto scalar = graph_.at(x).scalar;
    const auto known = x < found_.size() && found_[x] && graph_.at(x).active;
    const auto found = known ? *found_[x] : graph_.constant(0.0);
    return scalar || !graph_.at(found).scalar ? found : graph_.fill(found, size);
  }

private:
  Index constant(double x) {
    return graph_.constant(x);
  }
  Index chain(Index a, Index b) {
    return graph_.binary(Op::chain, a, b);
  }
  Index binary(Op op, Index a, Index b) {
    return graph_.binary(op, a, b);
  }
  Index unary(Op op, Index a, double low = 0.0) {
    return graph_.unary(op, a, low);
  }
  Index one_minus(Index a) {
    return binary(Op::subtract, constant(1.0), a);
  }
  /// One number for each element of `node`.
  Index whole(Index g, const Node& node) {
    return graph_.at(g).scalar && !node.scalar ? graph_.fill(g, node.values.size()) : g;
  }

  /// Adds `g`, a derivative for each element of `node`, to that of its input `x`.
  void give(const Node& node, Index x, Index g) {
    if (!graph_.at(x).active)
      return;
    if (graph_.at(x).scalar && !node.scalar)
      g = graph_.at(g).scalar ? chain(g, constant(static_cast<double>(node.values.size())))
                              : graph_.sum(g);
    add(x, g);
  }

  void add(Index x, Index g) {
    found_[x] = found_[x] ? binary(Op::add, *found_[x], g) : g;
  }

  void pass_on(const Node& node, Index y, Index g) {
    switch (node.op) {
    case Op::variable:
    case Op::constant:
    case Op::above:
      return;
    case Op::add:
    case Op::subtract:
    case Op::multiply:
    case Op::chain:
    case Op::divide:
    case Op::minimum:
    case Op::maximum:
    case Op::select:
      return pass_on_to_several(node, y, g);
    case Op::sum:
    case Op::fill:
    case Op::slice:
    case Op::pad:
    case Op::join:
    case Op::row_sum:
    case Op::row_repeat:
    case Op::matmul:
    case Op::transpose:
      return pass_on_places(node, g);
    case Op::negate:
      return give(node, node.inputs[0], unary(Op::negate, g));
    default:
      return give(node, node.inputs[0], chain(g, slope(node, y)));
    }
  }

  /// The derivative of an operation of one input, element by element.
  Index slope(const Node& node, Index y) {
    const auto x = node.inputs[0];
    switch (node.op) {
    case Op::exp:
      return y;
    case Op::log:
      return binary(Op::divide, constant(1.0), x);
    case Op::log1p:
      return binary(Op::divide, constant(1.0), binary(Op::add, x, constant(1.0)));
    case Op::expm1:
      return binary(Op::add, y, constant(1.0));
    case Op::sqrt:
      return binary(Op::divide, constant(0.5), y);
    case Op::abs:
      return binary(Op::subtract, binary(Op::above, x, constant(0.0)),
                    binary(Op::above, constant(0.0), x));
    case Op::square:
      return binary(Op::multiply, x, constant(2.0));
    case Op::power:
      if (node.low == 0.0)
        return constant(0.0);
      return binary(Op::multiply, unary(Op::power, x, node.low - 1.0), constant(node.low));
    case Op::sigmoid:
      return binary(Op::multiply, y, one_minus(y));
    case Op::log_sigmoid:
      return unary(Op::sigmoid, unary(Op::negate, x));
    case Op::tanh:
      return one_minus(unary(Op::square, y));
    case Op::relu:
      return binary(Op::above, x, constant(0.0));
    default: // clamp: 1 within the bounds and on them
      return one_minus(binary(Op::maximum, binary(Op::above, constant(node.low), x),
                              binary(Op::above, x, constant(node.high))));
    }
  }

  void pass_on_to_several(const Node& node, Index y, Index g) {
    const auto a = node.inputs[0];
    const auto b = node.inputs[1];
    const auto give_first = [&](auto make) { // makes nothing for a constant
      if (graph_.at(a).active)
        give(node, a, make());
    };
    const auto give_second = [&](auto make) {
      if (graph_.at(b).active)
        give(node, b, make());
    };
    switch (node.op) {
    case Op::add:
      give(node, a, g);
      return give(node, b, g);
    case Op::subtract:
      give(node, a, g);
      return give_second([&] { return unary(Op::negate, g); });
    case Op::divide:
      give_first([&] { return chain(g, binary(Op::divide, constant(1.0), b)); });
      return give_second([&] { return chain(g, unary(Op::negate, binary(Op::divide, y, b))); });
    case Op::minimum: // where both are alike, the first is the one
      give_first([&] { return chain(g, one_minus(binary(Op::above, a, b))); });
      return give_second([&] { return chain(g, binary(Op::above, a, b)); });
    case Op::maximum:
      give_first([&] { return chain(g, one_minus(binary(Op::above, b, a))); });
      return give_second([&] { return chain(g, binary(Op::above, b, a)); });
    case Op::select:
      give_second([&] { return graph_.select(a, g, constant(0.0)); });
      if (const auto c = node.inputs[2]; graph_.at(c).active)
        give(node, c, graph_.select(a, constant(0.0), g));
      return;
    default: // a product
      give_first([&] { return chain(g, b); });
      return give_second([&] { return chain(g, a); });
    }
  }

  /// Operations that only move or add up elements.
  void pass_on_places(const Node& node, Index g) {
    const auto x = node.inputs[0];
    const auto scalar = graph_.at(g).scalar;
    switch (node.op) {
    case Op::sum:
      return add(x, g);
    case Op::fill:
      return give(node, x, g);
    case Op::slice:
      return add(x, graph_.pad(whole(g, node), node.offset, graph_.at(x).values.size()));
    case Op::pad:
      return add(x, scalar ? g
                           : graph_.slice(g, node.offset, graph_.at(x).values.size(),
                                          graph_.at(x).scalar));
    case Op::join:
      return pass_on_parts(node, g);
    case Op::row_sum:
      return add(x, scalar ? g : graph_.row_repeat(g, node.offset));
    case Op::row_repeat:
      return add(x, scalar ? chain(g, constant(static_cast<double>(node.offset)))
                           : graph_.row_sum(g, node.offset));
    case Op::transpose:
      return add(x, scalar ? g : graph_.transpose(g, graph_.at(x).values.size() / node.offset));
    default:
      return pass_on_product(node, whole(g, node));
    }
  }

  void pass_on_parts(const Node& node, Index g) {
    std::size_t offset = 0;
    for (const auto part : node.parts) {
      const auto size = graph_.at(part).values.size();
      if (graph_.at(part).active)
        add(part, graph_.at(g).scalar ? g : graph_.slice(g, offset, size, graph_.at(part).scalar));
      offset += size;
    }
  }

  void pass_on_product(const Node& node, Index g) {
    const auto a = node.inputs[0];
    const auto b = node.inputs[1];
    const auto inner = node.offset;
    const auto columns = graph_.at(b).values.size() / inner;
    if (columns == 0 || node.values.empty())
      return;
    if (graph_.at(a).active)
      add(a, graph_.matmul(g, graph_.transpose(b, columns), columns));
    if (graph_.at(b).active)
      add(b, graph_.matmul(graph_.transpose(a, inner), g, node.values.size() / columns));
  }

  Graph& graph_;
  std::vector<std::optional<Index>> found_;
};

} // namespace

std::vector<Index> Graph::gradients(Index y, std::span<const Index> of) {
  Backward backward{*this, y};
  backward.run();
  std::vector<Index> out;
  out.reserve(of.size());
  for (const auto x : of)
    out.push_back(backward.of(x));
  return out;
}

} // namespace tinkaf::losses::detail

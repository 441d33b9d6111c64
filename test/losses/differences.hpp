// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "losses/autodiff.hpp"
#include "test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace tinkaf::losses {

using Points = std::vector<std::vector<double>>;

/// A scalar of some vectors.
using Scalar = std::function<Var(Tape&, const std::vector<Var>&)>;

inline std::vector<Var> variables(Tape& tape, const Points& at) {
  std::vector<Var> out;
  for (const auto& values : at)
    out.push_back(tape.variable(std::span<const double>{values}));
  return out;
}

inline double value_at(const Scalar& f, const Points& at) {
  Tape tape;
  return f(tape, variables(tape, at)).value();
}

inline Points gradient_at(const Scalar& f, const Points& at) {
  Tape tape;
  const auto x = variables(tape, at);
  Points out;
  for (const auto& slope : gradients(f(tape, x), x))
    out.emplace_back(slope.values().begin(), slope.values().end());
  return out;
}

/// The same by central differences.
inline Points differences_at(const Scalar& f, Points at) {
  Points out;
  for (auto& values : at) {
    out.emplace_back();
    for (auto& x : values) {
      const auto middle = x;
      const auto step = 1e-5 * std::max(1.0, std::abs(middle));
      x = middle + step;
      const auto above = value_at(f, at);
      x = middle - step;
      const auto below = value_at(f, at);
      x = middle;
      out.back().push_back((above - below) / (2.0 * step));
    }
  }
  return out;
}

/// Compares numbers by the size of the largest.
inline void check_close(const Points& got, const Points& expected, double tolerance = 1e-6) {
  auto largest = 1e-3;
  for (const auto& values : expected)
    for (const auto x : values)
      largest = std::max(largest, std::abs(x));
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    REQUIRE(got[i].size() == expected[i].size());
    for (std::size_t j = 0; j < got[i].size(); ++j) {
      INFO("gradient " << j << " of vector " << i);
      CHECK(std::abs(got[i][j] - expected[i][j]) <= tolerance * largest);
    }
  }
}

/// Checks the gradient of `f`, and the gradient of a function of that gradient.
inline void check_gradients(const Scalar& f, const Points& at) {
  check_close(gradient_at(f, at), differences_at(f, at));
  const Scalar of_gradient = [&](Tape& tape, const std::vector<Var>& x) {
    auto out = tape.constant(0.0);
    for (const auto& slope : gradients(f(tape, x), x))
      for (std::size_t i = 0; i < slope.size(); ++i)
        out = out + square(element(slope, i) - 0.3) * (1.0 + 0.1 * static_cast<double>(i));
    return out;
  };
  check_close(gradient_at(of_gradient, at), differences_at(of_gradient, at), 1e-5);
}

} // namespace tinkaf::losses

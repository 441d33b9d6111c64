// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::wire {

/// Where in a body a reader or writer is, for example `data[3].loss_fn_inputs.weights`.
///
/// Holds views: names must outlive the step.
class JsonPath {
public:
  void push(std::string_view name) {
    steps_.push_back({name, 0});
  }

  void push(std::size_t index) {
    steps_.push_back({{}, index});
  }

  void pop() {
    steps_.pop_back();
  }

  /// The place in backticks, or "the body" at the top.
  [[nodiscard]] std::string str() const;

private:
  struct Step {
    std::string_view name;
    std::size_t index = 0;
  };

  std::vector<Step> steps_;
};

} // namespace tinkaf::wire

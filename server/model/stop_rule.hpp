// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/sampling.hpp"
#include "server/model/base_model.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace tinkaf::model {

/// Knows when a sample is complete: at an end token of the model, or as the request says.
class StopRule {
public:
  /// @param base outlives this object
  StopRule(const BaseModel& base, const Stop& stop);

  /// Looks at the next token of the sample; true if it completes the sample.
  bool ends(Token token);

private:
  const BaseModel* base_;
  std::vector<std::string> texts_;
  std::vector<Token> tokens_;
  std::size_t longest_ = 0;
  std::string tail_;
};

} // namespace tinkaf::model

// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_path.hpp"

#include "api/wire/utf8.hpp"

namespace tinkaf::wire {

std::string JsonPath::str() const {
  if (steps_.empty())
    return "the body";
  constexpr std::size_t max_name_bytes = 80;
  std::string out = "`";
  for (const auto& step : steps_) {
    if (step.name.data() == nullptr) {
      out += '[' + std::to_string(step.index) + ']';
      continue;
    }
    if (out.size() > 1)
      out += '.';
    out += replace_invalid_utf8(excerpt(step.name, max_name_bytes));
  }
  return out + '`';
}

} // namespace tinkaf::wire

// SPDX-License-Identifier: Apache-2.0
#include "messages/supervision.hpp"

#include <cstddef>

namespace tinkaf {

namespace {

constexpr auto poller_prefix = "poller ";

void print(const SupervisedPart& part, std::size_t depth, std::string& text) {
  text += std::string(2 * depth, ' ') + part.name + ": " + to_string(part.state);
  if (part.restarts > 0)
    text += ", " + std::to_string(part.restarts) + (part.restarts == 1 ? " restart" : " restarts")
            + ", last because of " + part.last_reason;
  text += '\n';
  std::size_t quiet_pollers = 0;
  for (const auto& child : part.parts) {
    auto quiet = child.restarts == 0 && child.name.starts_with(poller_prefix);
    if (quiet)
      ++quiet_pollers;
    else
      print(child, depth + 1, text);
  }
  if (quiet_pollers > 0)
    text += std::string(2 * (depth + 1), ' ') + std::to_string(quiet_pollers)
            + (quiet_pollers == 1 ? " poller" : " pollers") + " without a restart\n";
}

} // namespace

const char* to_string(PartState state) noexcept {
  switch (state) {
  case PartState::running:
    return "running";
  case PartState::restarting:
    return "restarting";
  case PartState::ended:
    return "ended";
  }
  return "unknown";
}

std::string to_text(const SupervisionTree& tree) {
  std::string text;
  print(tree.session, 0, text);
  return text;
}

} // namespace tinkaf

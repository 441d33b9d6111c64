// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/fault_plan.hpp"

#include "test/chaos/draws.hpp"

namespace tinkaf::test {

std::string_view to_string(FaultKind kind) noexcept {
  switch (kind) {
  case FaultKind::none:
    return "none";
  case FaultKind::refuse:
    return "refuse";
  case FaultKind::reset:
    return "reset";
  case FaultKind::drop:
    return "drop";
  case FaultKind::delay:
    return "delay";
  case FaultKind::duplicate:
    return "duplicate";
  case FaultKind::truncate:
    return "truncate";
  case FaultKind::garbage:
    return "garbage";
  case FaultKind::slow_body:
    return "slow body";
  case FaultKind::unavailable:
    return "5xx";
  case FaultKind::too_many:
    return "429";
  }
  return "unknown";
}

Fault FaultPlan::at(std::uint64_t request) const {
  if (request >= last)
    return {};
  auto draws = Draws{seed, request};
  if (draws.share() >= rate)
    return {};
  const auto choices = kinds.empty() ? fault_kinds.size() : kinds.size();
  const auto choice = draws.below(choices);
  auto fault = Fault{.kind = kinds.empty() ? fault_kinds.at(choice) : kinds[choice]};
  fault.time
      = std::chrono::milliseconds{1 + draws.below(static_cast<std::uint64_t>(longest.count()))};
  if (fault.kind == FaultKind::unavailable || fault.kind == FaultKind::too_many)
    fault.more = static_cast<std::uint32_t>(draws.below(4));
  return fault;
}

} // namespace tinkaf::test

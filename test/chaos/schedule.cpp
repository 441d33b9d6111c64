// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/schedule.hpp"

#include "test/chaos/draws.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tinkaf::test {

namespace {

/// About as many requests as an untroubled job makes.
constexpr std::uint64_t usual_requests = 30;

/// Behind this, all goes well, so that every trial ends.
constexpr std::uint64_t troubled_requests = 120;

FaultPlan draw_faults(Draws& draws) {
  auto plan = FaultPlan{.seed = draws.next(), .last = troubled_requests};
  constexpr std::array rates{0.0, 0.05, 0.1, 0.2, 0.35};
  plan.rate = rates.at(draws.below(rates.size()));
  // Half of the plans keep to one or two kinds, so that these come in numbers.
  if (draws.below(2) == 0)
    for (auto count = 1 + draws.below(2); count > 0; --count)
      plan.kinds.push_back(fault_kinds.at(draws.below(fault_kinds.size())));
  return plan;
}

/// Kills three times as often as the rest.
Blow draw_blow(Draws& draws) {
  constexpr std::array weighted{Blow::client, Blow::client, Blow::client,    Blow::server,
                                Blow::server, Blow::server, Blow::interrupt, Blow::forget};
  return weighted.at(draws.below(weighted.size()));
}

} // namespace

std::string_view to_string(Blow blow) noexcept {
  switch (blow) {
  case Blow::client:
    return "client";
  case Blow::interrupt:
    return "interrupt";
  case Blow::server:
    return "server";
  case Blow::forget:
    return "forget";
  }
  return "unknown";
}

Schedule draw_schedule(std::uint64_t seed, const ChaosScope& scope) {
  auto draws = Draws{seed};
  auto schedule = Schedule{.seed = seed};
  schedule.job.steps = 2 + static_cast<int>(draws.below(4));
  schedule.job.seed = static_cast<int>(draws.below(2));
  schedule.job.save_every = static_cast<int>(draws.below(3));
  auto faults = draw_faults(draws);
  if (scope.network)
    schedule.faults = std::move(faults);
  schedule.breaks = draws.below(2) == 0 && scope.actors;
  for (auto count = draws.below(4); count > 0; --count) {
    auto kill = Kill{.blow = draw_blow(draws)};
    kill.request = draws.below(usual_requests);
    kill.delay = std::chrono::milliseconds{draws.below(4)};
    kill.away = std::chrono::milliseconds{draws.below(60)};
    if (scope.blows.count(kill.blow) > 0)
      schedule.kills.push_back(kill);
  }
  std::stable_sort(schedule.kills.begin(), schedule.kills.end(),
                   [](const Kill& a, const Kill& b) { return a.request < b.request; });
  return schedule;
}

std::string to_string(const Schedule& schedule) {
  auto text
      = fmt::format("{} steps, data seed {}, saved every {}, {:.0f} % faults", schedule.job.steps,
                    schedule.job.seed, schedule.job.save_every, 100 * schedule.faults.rate);
  for (const auto kind : schedule.faults.kinds)
    text += fmt::format(" {}", to_string(kind));
  if (schedule.breaks)
    text += ", actors break";
  for (const auto& kill : schedule.kills)
    text += fmt::format(", {} at {}+{} ms", to_string(kill.blow), kill.request, kill.delay.count());
  return text;
}

} // namespace tinkaf::test

// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/schedule.hpp"

#include "test/chaos/draws.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

namespace tinkaf::test {

namespace {

/// About as many requests as an untroubled job makes.
constexpr std::uint64_t usual_requests = 30;

/// About as many operations and samples, and writes of the server.
constexpr std::uint64_t usual_operations = 14;
constexpr std::uint64_t usual_writes = 50;

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
  constexpr std::array weighted{Blow::client, Blow::client,    Blow::client,
                                Blow::server, Blow::server,    Blow::server,
                                Blow::halt,   Blow::interrupt, Blow::forget};
  return weighted.at(draws.below(weighted.size()));
}

ChaosJob draw_job(Draws& draws) {
  auto job = ChaosJob{};
  job.steps = 2 + static_cast<int>(draws.below(4));
  job.seed = static_cast<int>(draws.below(2));
  job.save_every = static_cast<int>(draws.below(3));
  // Fewer kinds of the others: each wants an untroubled run to compare with.
  if (draws.below(5) < 3) {
    job = {.work = works.at(1 + draws.below(works.size() - 1)),
           .steps = 2 + static_cast<int>(draws.below(2)),
           .save_every = static_cast<int>(draws.below(2))};
  }
  return job;
}

std::set<std::uint64_t> draw_numbers(Draws& draws, std::uint64_t most, std::uint64_t below) {
  auto numbers = std::set<std::uint64_t>{};
  for (auto count = 1 + draws.below(most); count > 0; --count)
    numbers.insert(1 + draws.below(below));
  return numbers;
}

/// Every other server is sound; of the rest, each plays one to all of its faults.
ServerTrouble draw_server(Draws& draws) {
  auto trouble = ServerTrouble{};
  if (draws.below(2) == 0)
    return trouble;
  if (draws.below(3) == 0)
    trouble.failed_operations = draw_numbers(draws, 3, usual_operations);
  if (draws.below(3) == 0)
    trouble.dropped_replies = draw_numbers(draws, 6, usual_requests);
  if (draws.below(3) == 0) {
    trouble.delayed_replies = draw_numbers(draws, 4, usual_requests);
    trouble.reply_delay = std::chrono::milliseconds{1 + draws.below(300)};
  }
  if (draws.below(3) == 0)
    trouble.model_wait = std::chrono::milliseconds{1 + draws.below(200)};
  if (draws.below(3) == 0) {
    trouble.disk_full_from = 1 + draws.below(usual_writes);
    trouble.disk_full_writes = 1 + draws.below(6);
  }
  return trouble;
}

std::string list(const std::set<std::uint64_t>& numbers) {
  return fmt::to_string(fmt::join(numbers, ","));
}

} // namespace

std::string_view to_string(Work work) noexcept {
  switch (work) {
  case Work::sft:
    return "sft";
  case Work::custom_loss:
    return "custom loss";
  case Work::samples:
    return "samples";
  case Work::custom_loss_and_samples:
    return "custom loss and samples";
  case Work::dpo:
    return "dpo";
  case Work::rl:
    return "rl";
  case Work::distill:
    return "distill";
  }
  return "unknown";
}

bool is_loop(Work work) noexcept {
  return work == Work::custom_loss || work == Work::samples
         || work == Work::custom_loss_and_samples;
}

std::vector<std::string> ServerTrouble::options() const {
  if (!any())
    return {};
  auto words = std::vector<std::string>{"--test-mode"};
  const auto add = [&](const char* name, const std::string& value) {
    words.emplace_back(name);
    words.push_back(value);
  };
  if (!failed_operations.empty())
    add("--fail-operation", list(failed_operations));
  if (!dropped_replies.empty())
    add("--drop-reply", list(dropped_replies));
  if (!delayed_replies.empty()) {
    add("--delay-reply", list(delayed_replies));
    add("--reply-delay", std::to_string(reply_delay.count()));
  }
  if (model_wait.count() > 0)
    add("--model-wait", std::to_string(model_wait.count()));
  if (disk_full_from > 0) {
    add("--disk-full-from", std::to_string(disk_full_from));
    add("--disk-full-writes", std::to_string(disk_full_writes));
  }
  return words;
}

std::string_view to_string(Blow blow) noexcept {
  switch (blow) {
  case Blow::client:
    return "client";
  case Blow::interrupt:
    return "interrupt";
  case Blow::halt:
    return "halt";
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
  schedule.job = draw_job(draws);
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
  auto server = draw_server(draws);
  if (scope.test_mode)
    schedule.server = std::move(server);
  std::stable_sort(schedule.kills.begin(), schedule.kills.end(),
                   [](const Kill& a, const Kill& b) { return a.request < b.request; });
  return schedule;
}

std::string to_string(const Schedule& schedule) {
  auto text = fmt::format("{}, {} steps, data seed {}, saved every {}, {:.0f} % faults",
                          to_string(schedule.job.work), schedule.job.steps, schedule.job.seed,
                          schedule.job.save_every, 100 * schedule.faults.rate);
  for (const auto kind : schedule.faults.kinds)
    text += fmt::format(" {}", to_string(kind));
  if (schedule.server.any())
    text += fmt::format(", serve {}", fmt::join(schedule.server.options(), " "));
  if (schedule.breaks)
    text += ", actors break";
  for (const auto& kill : schedule.kills)
    text += fmt::format(", {} at {}+{} ms", to_string(kill.blow), kill.request, kill.delay.count());
  return text;
}

} // namespace tinkaf::test

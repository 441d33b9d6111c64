// SPDX-License-Identifier: Apache-2.0
#include "cli/test_breaks.hpp"

#include "cli/limits.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace tinkaf::cli {

namespace {

constexpr std::uint32_t breaks_of_a_kind = 3;
constexpr std::size_t remembered_parts = 32;
constexpr std::uint64_t longest_pause = 60; // in ms

class PartBreaker {
public:
  explicit PartBreaker(std::uint64_t seed)
      : random_(seed), thread_([this](const std::stop_token& stop) { run(stop); }) {}

  void add(std::string_view kind, std::function<void()> break_it) {
    const auto lock = std::lock_guard{mutex_};
    parts_.emplace_back(kind, std::move(break_it));
    if (parts_.size() > remembered_parts)
      parts_.pop_front();
  }

private:
  void run(const std::stop_token& stop) {
    auto lock = std::unique_lock{mutex_};
    auto wake = std::condition_variable_any{};
    while (!stop.stop_requested()) {
      wake.wait_for(lock, stop, std::chrono::milliseconds{random_() % longest_pause},
                    [] { return false; });
      if (!stop.stop_requested() && !parts_.empty())
        break_one();
    }
  }

  void break_one() {
    const auto choice = random_() % parts_.size();
    const auto [kind, break_it] = parts_[choice];
    parts_.erase(parts_.begin() + static_cast<std::ptrdiff_t>(choice));
    if (counts_[kind]++ >= breaks_of_a_kind)
      return;
    complain(fmt::format("test mode: breaks a {}", kind));
    break_it();
  }

  std::mutex mutex_;
  std::mt19937_64 random_;
  std::deque<std::pair<std::string, std::function<void()>>> parts_;
  std::map<std::string, std::uint32_t> counts_;

  // Goes first.
  std::jthread thread_;
};

} // namespace

Result<void> apply_test_breaks(ClientOptions& options) {
  const auto* const given = std::getenv("TINKAF_TEST_BREAKS");
  if (given == nullptr || *given == '\0')
    return {};
  auto text = std::string{given};
  if (const auto wrong = whole_number(0)(text); !wrong.empty())
    return fail(Errc::invalid_argument, "TINKAF_TEST_BREAKS " + wrong);
  static auto breaker = PartBreaker{std::stoull(text)};
  for (auto* policy :
       {&options.restarts.pollers, &options.restarts.clients, &options.restarts.services})
    policy->on_start = [](std::string_view kind, std::function<void()> break_it) {
      breaker.add(kind, std::move(break_it));
    };
  return {};
}

} // namespace tinkaf::cli

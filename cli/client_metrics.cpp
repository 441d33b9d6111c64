// SPDX-License-Identifier: Apache-2.0
#include "cli/client_metrics.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdint>
#include <utility>

namespace tinkaf::cli {

namespace {

double millis(std::chrono::microseconds time) {
  return std::chrono::duration<double, std::milli>{time}.count();
}

/// Calls that succeeded, and those that did not.
std::pair<std::uint64_t, std::uint64_t> calls_of(const EndpointMetrics& endpoint) {
  std::uint64_t good = 0;
  std::uint64_t bad = 0;
  for (const auto& [outcome, count] : endpoint.outcomes)
    (outcome == "ok" ? good : bad) += count;
  return {good, bad};
}

std::string latency_json(const LatencySummary& times) {
  return fmt::format(R"({{"count":{},"mean_ms":{:.3f},"p50_ms":{:.3f},"p95_ms":{:.3f},)"
                     R"("p99_ms":{:.3f},"max_ms":{:.3f}}})",
                     times.count, millis(times.mean), millis(times.p50), millis(times.p95),
                     millis(times.p99), millis(times.max));
}

} // namespace

std::string metrics_table(const ClientMetrics& metrics) {
  auto text = fmt::format("{:<26}{:>7}{:>7}{:>8}{:>9}{:>9}{:>9}{:>9}{:>10}{:>10}\n",
                          "calls (times in ms)", "ok", "failed", "retries", "p50", "p95", "p99",
                          "queued", "kB out", "kB in");
  for (const auto& [name, endpoint] : metrics.endpoints) {
    const auto [good, bad] = calls_of(endpoint);
    text += fmt::format("{:<26}{:>7}{:>7}{:>8}{:>9.1f}{:>9.1f}{:>9.1f}{:>9.1f}{:>10.1f}{:>10.1f}\n",
                        name, good, bad, endpoint.retries, millis(endpoint.latency.p50),
                        millis(endpoint.latency.p95), millis(endpoint.latency.p99),
                        millis(endpoint.queue_time.p50),
                        static_cast<double>(endpoint.bytes_out) / 1e3,
                        static_cast<double>(endpoint.bytes_in) / 1e3);
  }
  return text
         + fmt::format("{} polls, {} of them in a paused queue ({:.1f} s); pollers restarted {} "
                       "times\n",
                       metrics.polls, metrics.paused_polls,
                       std::chrono::duration<double>{metrics.paused}.count(),
                       metrics.poller_restarts);
}

std::string metrics_json(const ClientMetrics& metrics) {
  auto endpoints = std::string{};
  for (const auto& [name, endpoint] : metrics.endpoints) {
    auto outcomes = std::string{};
    for (const auto& [outcome, count] : endpoint.outcomes)
      outcomes += fmt::format("{}\"{}\":{}", outcomes.empty() ? "" : ",", outcome, count);
    endpoints += fmt::format(R"({}"{}":{{"outcomes":{{{}}},"retries":{},"latency":{},)"
                             R"("queue_time":{},"bytes_out":{},"bytes_in":{}}})",
                             endpoints.empty() ? "" : ",", name, outcomes, endpoint.retries,
                             latency_json(endpoint.latency), latency_json(endpoint.queue_time),
                             endpoint.bytes_out, endpoint.bytes_in);
  }
  return fmt::format(R"({{"period_ms":{},"endpoints":{{{}}},"polls":{},"paused_polls":{},)"
                     R"("paused_ms":{},"poller_restarts":{},"in_flight":{}}})",
                     metrics.period.count(), endpoints, metrics.polls, metrics.paused_polls,
                     metrics.paused.count(), metrics.poller_restarts, metrics.in_flight);
}

} // namespace tinkaf::cli

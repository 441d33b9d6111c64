// SPDX-License-Identifier: Apache-2.0
#include "api/call_metrics.hpp"

#include <utility>

namespace tinkaf {

namespace {

constexpr std::string_view poll_endpoint = "retrieve_future";

/// Longer bodies are results.
constexpr std::size_t max_pending_bytes = 4'096;

bool says_paused(const HttpResponse& response) noexcept {
  return response.body.size() <= max_pending_bytes
         && response.body.find("\"paused_") != std::string::npos;
}

} // namespace

CallMetrics::Entry& CallMetrics::entry(std::string_view endpoint) {
  auto found = entries_.find(endpoint);
  if (found == entries_.end())
    found = entries_.emplace(std::string{endpoint}, Entry{}).first;
  return found->second;
}

void CallMetrics::on_try(std::string_view endpoint, std::uint64_t bytes, bool first) {
  auto& metrics = entry(endpoint).metrics;
  metrics.bytes_out += bytes;
  if (!first)
    ++metrics.retries;
}

void CallMetrics::on_answer(std::string_view endpoint, const HttpResponse& response) {
  entry(endpoint).metrics.bytes_in += response.body.size();
  if (endpoint != poll_endpoint)
    return;
  ++polls_;
  if (says_paused(response)) {
    ++paused_polls_;
    paused_ += response.elapsed;
  }
}

void CallMetrics::on_end(std::string_view endpoint, Errc outcome, std::chrono::microseconds latency,
                         std::chrono::microseconds queue_time) {
  auto& ended = entry(endpoint);
  ++ended.metrics.outcomes[outcome == Errc::none ? "ok" : to_string(outcome)];
  ended.latency.add(latency);
  ended.queue_time.add(queue_time);
}

ClientMetrics CallMetrics::summary(TimePoint now) const {
  ClientMetrics result;
  result.period = std::chrono::duration_cast<std::chrono::milliseconds>(now - began_);
  for (const auto& [name, entry] : entries_) {
    auto& metrics = result.endpoints[name] = entry.metrics;
    metrics.latency = entry.latency.summary();
    metrics.queue_time = entry.queue_time.summary();
  }
  result.polls = polls_;
  result.paused_polls = paused_polls_;
  result.paused = std::chrono::duration_cast<std::chrono::milliseconds>(paused_);
  return result;
}

} // namespace tinkaf

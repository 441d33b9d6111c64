// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_message.hpp"
#include "api/latency_histogram.hpp"
#include "messages/client_metrics.hpp"
#include "messages/error.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tinkaf {

/// Gathers the metrics of calls. A few additions for each; not thread-safe.
class CallMetrics {
public:
  using TimePoint = std::chrono::steady_clock::time_point;

  explicit CallMetrics(TimePoint now = {}) : began_(now) {}

  /// A try goes out.
  void on_try(std::string_view endpoint, std::uint64_t bytes, bool first);

  /// A try has been answered.
  void on_answer(std::string_view endpoint, const HttpResponse& response);

  /// A call has ended.
  /// @param outcome `Errc::none` for success
  void on_end(std::string_view endpoint, Errc outcome, std::chrono::microseconds latency,
              std::chrono::microseconds queue_time);

  [[nodiscard]] ClientMetrics summary(TimePoint now) const;

private:
  struct Entry {
    EndpointMetrics metrics;
    LatencyHistogram latency;
    LatencyHistogram queue_time;
  };

  Entry& entry(std::string_view endpoint);

  TimePoint began_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::uint64_t polls_ = 0;
  std::uint64_t paused_polls_ = 0;
  std::chrono::microseconds paused_{0};
};

} // namespace tinkaf

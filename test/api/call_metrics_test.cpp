// SPDX-License-Identifier: Apache-2.0
#include "api/call_metrics.hpp"

#include "test/catch.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

TEST_CASE("Percentiles are right within one part in thirty-two", "[api][metrics]") {
  auto seed = GENERATE(1U, 2U, 3U);
  std::mt19937 random{seed};
  std::lognormal_distribution<> times{10.0, 3.0}; // microseconds to minutes
  LatencyHistogram histogram;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 20'000; ++i) {
    all.push_back(static_cast<std::int64_t>(times(random)));
    histogram.add(std::chrono::microseconds{all.back()});
  }
  std::sort(all.begin(), all.end());
  for (auto share : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(all.size())));
    auto exact = static_cast<double>(all[rank - 1]);
    auto told = static_cast<double>(histogram.percentile(share).count());
    CHECK(std::abs(told - exact) <= exact / 32.0 + 0.5);
  }
  auto summary = histogram.summary();
  CHECK(summary.count == all.size());
  CHECK(summary.max.count() == all.back());
}

TEST_CASE("A histogram takes all times there are", "[api][metrics]") {
  LatencyHistogram histogram;
  CHECK(histogram.summary() == LatencySummary{});
  histogram.add(-5us);
  CHECK(histogram.percentile(0.5) == 0us);
  for (std::int64_t micros = 0; micros < 16; ++micros) {
    LatencyHistogram exact;
    exact.add(std::chrono::microseconds{micros});
    CHECK(exact.percentile(0.5).count() == micros);
  }
  histogram.add(std::chrono::microseconds::max());
  CHECK(histogram.summary().max == std::chrono::microseconds::max());
}

TEST_CASE("Calls are counted by endpoint and outcome", "[api][metrics]") {
  auto began = std::chrono::steady_clock::time_point{1h};
  CallMetrics metrics{began};
  metrics.on_try("asample", 100, true);
  metrics.on_try("asample", 100, false);
  metrics.on_answer("asample", {.body = "12345"});
  metrics.on_end("asample", Errc::none, 10ms, 1ms);
  metrics.on_try("asample", 50, true);
  metrics.on_end("asample", Errc::timeout, 20ms, 2ms);
  metrics.on_answer("retrieve_future",
                    {.body = R"({"queue_state":"paused_capacity"})", .elapsed = 3s});
  metrics.on_answer("retrieve_future", {.body = R"({"queue_state":"active"})", .elapsed = 3s});
  auto summary = metrics.summary(began + 5s);
  CHECK(summary.period == 5s);
  const auto& sample = summary.endpoints.at("asample");
  CHECK(sample.outcomes == std::map<std::string, std::uint64_t>{{"ok", 1}, {"timeout", 1}});
  CHECK(sample.retries == 1);
  CHECK(sample.bytes_out == 250);
  CHECK(sample.bytes_in == 5);
  CHECK(sample.latency.count == 2);
  CHECK(sample.latency.max == 20ms);
  CHECK(sample.queue_time.mean == 1'500us);
  CHECK(summary.polls == 2);
  CHECK(summary.paused_polls == 1);
  CHECK(summary.paused == 3s);
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/client_metrics.hpp"

#include "test/catch.hpp"

#include <algorithm>

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::cli;

namespace {

ClientMetrics example() {
  ClientMetrics metrics;
  metrics.period = 5s;
  metrics.endpoints["optim_step"] = {.outcomes = {{"ok", 9}, {"timeout", 1}},
                                     .retries = 2,
                                     .latency = {.count = 10, .p50 = 1'500us, .p99 = 20ms},
                                     .bytes_out = 1'500,
                                     .bytes_in = 200};
  metrics.polls = 12;
  metrics.paused_polls = 3;
  metrics.paused = 4'500ms;
  metrics.poller_restarts = 2;
  return metrics;
}

} // namespace

TEST_CASE("Metrics are a table for people", "[cli][metrics]") {
  const auto table = metrics_table(example());
  CHECK(std::count(table.begin(), table.end(), '\n') == 3);
  const auto row = table.substr(table.find("\noptim_step") + 1);
  CHECK(row.find("optim_step                      9      1       2      1.5") == 0);
  CHECK(table.find("12 polls, 3 of them in a paused queue (4.5 s); pollers restarted 2 times")
        != std::string::npos);
}

TEST_CASE("Metrics are JSON for programs", "[cli][metrics]") {
  const auto json = metrics_json(example());
  CHECK(json.find(R"({"period_ms":5000,"endpoints":{"optim_step":{"outcomes":{"ok":9,"timeout":1},)"
                  R"("retries":2,"latency":{"count":10,"mean_ms":0.000,"p50_ms":1.500,)")
        == 0);
  CHECK(json.ends_with(R"("polls":12,"paused_polls":3,"paused_ms":4500,"poller_restarts":2,)"
                       R"("in_flight":0})"));
  CHECK(metrics_json({}).find(R"("endpoints":{},)") != std::string::npos);
}

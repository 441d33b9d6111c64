// SPDX-License-Identifier: Apache-2.0
#include "actors/quiet_notices.hpp"

#include "test/catch.hpp"

#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

TEST_CASE("The same notice is given at most once a minute", "[actors][notices]") {
  std::vector<std::string> told;
  std::chrono::steady_clock::time_point time;
  auto sink
      = quiet_notices([&](const Notice& x) { told.push_back(x.text); }, 60s, [&] { return time; });
  sink({Severity::warning, "paused"});
  sink({Severity::warning, "paused"});
  sink({Severity::warning, "throttled"});
  CHECK(told == std::vector<std::string>{"paused", "throttled"});
  time += 60s;
  sink({Severity::warning, "paused"});
  CHECK(told.size() == 3);
}

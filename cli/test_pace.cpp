// SPDX-License-Identifier: Apache-2.0
#include "cli/test_pace.hpp"

#include "cli/limits.hpp"
#include "cli/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

namespace tinkaf::cli {

Result<void> apply_test_pace(ClientOptions& options) {
  const auto* const given = std::getenv("TINKAF_TEST_PACE");
  if (given == nullptr || *given == '\0')
    return {};
  auto text = std::string{given};
  if (const auto wrong = whole_number(1, 1'000)(text); !wrong.empty())
    return fail(Errc::invalid_argument, "TINKAF_TEST_PACE " + wrong);
  const auto pace = std::stol(text);
  // Not the time to connect: nothing waits for it on this machine, unless the machine is very busy.
  for (auto* wait :
       {&options.request_timeout, &options.heartbeat_interval, &options.heartbeat_timeout,
        &options.retry.first_delay, &options.retry.max_delay, &options.polling.poll_timeout,
        &options.polling.first_delay, &options.polling.max_delay,
        &options.polling.hot_loop_threshold, &options.polling.hot_loop_delay,
        &options.polling.max_hot_loop_delay, &options.restarts.pollers.first_delay,
        &options.restarts.clients.first_delay, &options.restarts.services.first_delay})
    *wait = std::max(*wait / pace, std::chrono::milliseconds{1});
  complain(fmt::format("test mode: the waits of this client are {} times shorter", pace));
  return {};
}

} // namespace tinkaf::cli

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/cli/cli_fixture.hpp"

#include <map>
#include <string>
#include <vector>

#include <signal.h>

namespace tinkaf::test {

/// Runs that are killed, and the same without.
struct ResumeFixture : CliFixture {
  [[nodiscard]] std::string metrics(const std::string& run_name) const {
    return read_text(folder.path() / run_name / "metrics.jsonl");
  }

  /// Runs a command to its end.
  Finished finish(const std::vector<std::string>& arguments) const {
    auto done = run(arguments);
    INFO(done.err);
    REQUIRE(done.code == 0);
    return done;
  }

  /// Starts a command again and again and kills it when it has shown a step more, until it ends.
  /// @returns how often it was killed
  int kill_at_every_step(const std::vector<std::string>& arguments, int steps,
                         const std::map<std::string, std::string>& environment = {}) const {
    for (int kills = 0;; ++kills) {
      REQUIRE(kills <= 2 * steps);
      auto process = Process{start(arguments, environment)};
      auto line = process.read_line();
      while (!line.empty() && line.find(" steps  ") == std::string::npos)
        line = process.read_line();
      if (line.find(std::to_string(steps) + "/") == 0 || line.empty()) {
        const auto done = process.wait();
        INFO(done.err);
        CHECK(done.code == 0);
        return kills;
      }
      process.send(SIGKILL);
      CHECK(process.wait().code == 128 + SIGKILL);
    }
  }
};

} // namespace tinkaf::test

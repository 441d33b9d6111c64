// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/random_model.hpp"
#include "test/catch.hpp"
#include "test/cli/process.hpp"
#include "test/train/temp_folder.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::test {

/// A fresh folder with a small random model and a data file, and `tinkaf` run in it.
struct CliFixture {
  CliFixture() {
    REQUIRE(model::write_random_model(folder.path() / "model"));
    auto rows = std::string{};
    for (auto letter = 'a'; letter <= 'h'; ++letter)
      rows += std::string{R"({"prompt": ")"} + letter + R"(", "completion": ")" + letter + letter
              + "\"}\n";
    write_text(folder.path() / "data.jsonl", rows);
  }

  [[nodiscard]] Start start(std::vector<std::string> arguments,
                            std::map<std::string, std::string> environment = {}) const {
    return {std::move(arguments), folder.path(), std::move(environment)};
  }

  /// Options of a local server with the small model and a state folder.
  static std::vector<std::string> local(std::vector<std::string> arguments,
                                        const std::string& state = "state") {
    for (const auto* more : {"--model-dir", "model", "--threads", "1", "--state"})
      arguments.emplace_back(more);
    arguments.push_back(state);
    return arguments;
  }

  static std::vector<std::string> train(const std::string& out, int steps = 4) {
    return {"train",   "sft", "--data",      "data.jsonl",
            "--out",   out,   "--steps",     std::to_string(steps),
            "--batch", "4",   "--lora-rank", "4",
            "--seed",  "7"};
  }

  [[nodiscard]] Finished run(std::vector<std::string> arguments,
                             std::map<std::string, std::string> environment = {}) const {
    return run_tinkaf(start(std::move(arguments), std::move(environment)));
  }

  /// The program said one line and nothing was printed or left behind.
  static void check_one_line(const Finished& result, const std::string& part, int code = 1) {
    INFO(result.err);
    CHECK(result.code == code);
    CHECK(result.err.find("tinkaf: ") == 0);
    CHECK(std::count(result.err.begin(), result.err.end(), '\n') == 1);
    CHECK(result.err.find(part) != std::string::npos);
  }

  TempFolder folder;
};

/// A `tinkaf serve` that is ready.
struct ServeProcess {
  explicit ServeProcess(const CliFixture& fixture, const std::string& state = "served")
      : process(fixture.start(CliFixture::local({"serve"}, state))) {
    const auto line = process.read_line();
    const std::string head = "listening on ";
    REQUIRE(line.find(head + "http://127.0.0.1:") == 0);
    address = line.substr(head.size());
  }

  [[nodiscard]] std::string port() const {
    return address.substr(address.rfind(':') + 1);
  }

  Process process;
  std::string address;
};

} // namespace tinkaf::test

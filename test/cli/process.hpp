// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include <sys/types.h>

namespace tinkaf::test {

/// How a program is started: its own environment and nothing of ours that points to a service.
struct Start {
  std::vector<std::string> arguments;

  /// Where it runs.
  std::filesystem::path folder;

  /// Added to the environment.
  std::map<std::string, std::string> environment;
};

struct Finished {
  /// Exit code, or 128 + the signal that ended it.
  int code = -1;
  std::string out;
  std::string err;
};

/// A running `tinkaf`. Killed and waited for at the latest in the destructor.
class Process {
public:
  explicit Process(const Start& start);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// The next line of the standard output without its end; empty at the end of the output.
  [[nodiscard]] std::string read_line();

  void send(int signal) const;

  /// Reads the output to its end and waits.
  [[nodiscard]] Finished wait();

private:
  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  std::string err_text_;
  std::thread err_reader_;
  std::string seen_;
  std::string pending_;
};

/// Runs `tinkaf` to its end.
[[nodiscard]] Finished run_tinkaf(const Start& start);

} // namespace tinkaf::test

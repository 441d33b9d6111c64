// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tinkaf::test {

/// How a program is started: with this environment and no other.
struct ChildStart {
  std::filesystem::path program;
  std::vector<std::string> arguments;
  std::filesystem::path folder;
  std::map<std::string, std::string> environment;

  /// Gets the standard error, and the output unless `read_output` is set.
  std::filesystem::path log;

  bool read_output = false;
};

/// A running program. Killed and waited for at the latest in the destructor, or when this process
/// ends.
class Child {
public:
  explicit Child(const ChildStart& start);
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// The next line of the output; empty at its end, or when `limit` is over.
  [[nodiscard]] std::string read_line(std::chrono::milliseconds limit);

  /// ^C. Returns once the program has been given it: a second one before that would be lost.
  void interrupt() const;

  /// kill -9, and waits for the end.
  void kill();

  /// The exit code, 128 + the signal that ended it; nothing if it still runs when `limit` is over.
  [[nodiscard]] std::optional<int> wait(std::chrono::milliseconds limit);

  /// What it holds open.
  struct Descriptors {
    std::size_t sockets = 0;
    std::size_t all = 0;
  };

  [[nodiscard]] Descriptors descriptors() const;

  /// What each of its threads does: the system's letter for its state, and where in the kernel it
  /// waits.
  [[nodiscard]] std::string threads() const;

  /// Memory that it has, in KiB.
  [[nodiscard]] std::size_t memory() const;

private:
  pid_t pid_ = -1;
  int process_ = -1;
  int output_ = -1;
  std::optional<int> code_;
};

} // namespace tinkaf::test

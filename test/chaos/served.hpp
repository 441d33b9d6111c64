// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "test/chaos/child.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf::test {

/// A `tinkaf serve` that can be killed and started again on the same state folder.
class Served {
public:
  /// @param folder of its state and its log
  Served(std::filesystem::path program, std::filesystem::path folder);

  /// @param more options; one that cannot begin with them is started without
  void start(const std::vector<std::string>& more = {});
  void kill();

  /// ^C.
  /// @returns the exit code; nothing if it does not end
  [[nodiscard]] std::optional<int> stop();

  /// Where it says what it has to say.
  [[nodiscard]] std::filesystem::path log() const {
    return folder_ / "server.log";
  }

  /// While it does not run: removes what it knows of sessions, models and operations. Checkpoints
  /// stay.
  void forget() const;

  /// While it does not run: starts it on an empty state folder.
  void renew();

  [[nodiscard]] std::uint16_t port() const noexcept {
    return port_;
  }

  [[nodiscard]] std::filesystem::path state() const {
    return folder_ / "state";
  }

  /// Whether it has come back to the sockets that it had when it was ready; waits for a while.
  [[nodiscard]] bool let_go();

  /// Memory in KiB, beyond what it had when it was ready.
  [[nodiscard]] std::size_t growth() const;

  /// Whether it has given back memory and descriptors of sessions that have expired, but for what
  /// is kept in bounds; waits until they have.
  [[nodiscard]] bool shrinks();

private:
  [[nodiscard]] bool begin(const std::vector<std::string>& more);

  std::filesystem::path program_;
  std::filesystem::path folder_;
  std::unique_ptr<Child> child_;
  std::uint16_t port_ = 0;
  Child::Descriptors descriptors_;
  std::size_t memory_ = 0;
};

} // namespace tinkaf::test

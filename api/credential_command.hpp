// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/secret.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace tinkaf {

/// Takes a credential, or the reason why there is none.
using CredentialCallback = std::function<void(Result<Secret>)>;

/// Runs the user's command that prints a credential, on a thread of its own.
///
/// The command runs in the shell, in a process group of its own and with nothing to read; what it
/// writes to its standard error output, and its exit code, are not looked at. Thread-safe.
class CredentialCommand {
public:
  /// @param limit time for one run; then the command and its children are killed
  CredentialCommand(std::string command, std::chrono::milliseconds limit);

  /// Kills a run under way; it, and those that wait, are answered with `Errc::cancelled`.
  ~CredentialCommand();
  CredentialCommand(const CredentialCommand&) = delete;
  CredentialCommand& operator=(const CredentialCommand&) = delete;

  /// Runs the command behind those asked for before. The callback gets what was printed, without
  /// blanks around it, on the command's thread; or `Errc::unauthenticated`, whose message never
  /// holds any of the output: nothing was printed, far too much was, or time ran out.
  void run(CredentialCallback callback);

private:
  class Worker;
  std::unique_ptr<Worker> worker_;
};

} // namespace tinkaf

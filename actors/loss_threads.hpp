// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <chrono>
#include <functional>
#include <memory>

namespace tinkaf {

/// Runs functions of the user's off the actors' scheduler, each on a thread of its own: custom
/// losses, and sources of samples.
///
/// Shared by those who use it; goes with the last of them.
class LossThreads {
public:
  LossThreads(const LossThreads&) = delete;
  LossThreads& operator=(const LossThreads&) = delete;
  virtual ~LossThreads() = default;

  /// Starts `job`, which must not throw. Called from any thread, does not wait.
  /// @returns `Errc::internal` if the system has no thread left
  [[nodiscard]] virtual Result<void> run(std::function<void()> job) = 0;

protected:
  LossThreads() = default;
};

/// Threads that the destructor waits for, for `patience` at most: a function that heeds its
/// `stop_token` has ended by then, together with all that it refers to. A thread cannot be stopped
/// against its will, so one that does not is left to itself: its result goes nowhere, and it ends
/// with the process at the latest.
[[nodiscard]] std::shared_ptr<LossThreads> make_loss_threads(std::chrono::milliseconds patience
                                                             = std::chrono::seconds{2});

/// The same for jobs, which have services of their own: a client whose last owner is a job's
/// function has ended when the function returns, so that the next start finds nothing of it held.
[[nodiscard]] std::shared_ptr<LossThreads> make_job_threads(std::chrono::milliseconds patience);

} // namespace tinkaf

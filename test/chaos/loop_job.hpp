// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/client_options.hpp"
#include "messages/jobs.hpp"
#include "messages/notice.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>

namespace tinkaf::test {

/// A training loop of one's own over the library: what `tinkaf train` does not do.
struct LoopSettings {
  ClientOptions options;
  NoticeSink notices;

  /// Folder of the run, as `train::RunFolder` has it. Behind the last step there are also
  /// `samples.txt`, drawn from the last weights, and `archive/`, the last checkpoint's files.
  std::filesystem::path folder;

  std::size_t steps = 2;

  /// Steps between checkpoints; 0 for none but the last.
  std::size_t save_every = 0;

  /// Trains with a loss of its own instead of cross-entropy.
  bool custom_loss = false;

  /// Draws samples behind each step; they are among its metrics.
  bool samples = false;

  /// Told of each error that ends a call of the job.
  std::function<void(const Error&)> on_error;
};

/// The function of such a job. Called again on the same folder, in this process or in another, it
/// goes on, and what it writes becomes the same. An error after which it can go on by itself, be it
/// from a checkpoint, has `should_retry` set.
[[nodiscard]] JobFn loop_job(LoopSettings settings);

} // namespace tinkaf::test

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/loss_threads.hpp"
#include "messages/sample_stream.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

namespace tinkaf {

/// What a source gave: a request, nothing at its end, or that it threw.
using Drawn = Result<std::optional<SampleRequest>>;

/// Draws from a source on a thread of its own, so that a source which blocks holds up nobody but
/// its own stream. Thread-safe.
class SourceReader {
public:
  /// Gets what is drawn, on that thread, in order; nothing behind an end or an error.
  using Deliver = std::function<void(Drawn)>;

  /// @param threads start the thread; the source is drawn from in the caller's thread if null
  SourceReader(StoppableSampleSource source, std::shared_ptr<LossThreads> threads, Deliver deliver);

  /// Asks the source to stop, and does not wait for it: what it still gives is dropped.
  ~SourceReader();
  SourceReader(const SourceReader&) = delete;
  SourceReader& operator=(const SourceReader&) = delete;

  /// Draws that many requests more; nothing behind an end or an error.
  void draw(std::size_t count);

private:
  struct Shared;
  std::shared_ptr<Shared> shared_;

  /// Null once the thread has it.
  StoppableSampleSource source_;
  std::shared_ptr<LossThreads> threads_;
};

} // namespace tinkaf

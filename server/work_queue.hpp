// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace tinkaf::server {

/// Threads that work through lanes in turn, one piece of each: whoever has a long queue of its own
/// does not hold up the others. Thread-safe.
///
/// With one thread, the pieces of a lane run one after the other in the order of their arrival.
class WorkQueue {
public:
  /// Must not throw.
  using Work = std::function<void(std::stop_token)>;

  explicit WorkQueue(std::size_t threads);

  /// Calls `stop`.
  ~WorkQueue();
  WorkQueue(const WorkQueue&) = delete;
  WorkQueue& operator=(const WorkQueue&) = delete;

  /// Adds a piece to the end of a lane; dropped if the queue has stopped.
  void post(const std::string& lane, Work work);

  /// Asks what runs to stop, waits for it, and drops what has not begun.
  void stop();

private:
  void run();
  [[nodiscard]] Work take();

  std::stop_source stopping_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<std::string, std::deque<Work>> lanes_; // none is empty
  std::deque<std::string> turns_;                 // each lane once
  std::vector<std::thread> threads_;
};

} // namespace tinkaf::server

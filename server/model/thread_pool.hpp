// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tinkaf::model {

/// A fixed set of threads that share out independent pieces of work.
///
/// Thread-safe: several threads may call `run` at the same time. A call never waits for pieces
/// of another call that have not started, because the caller works too.
class ThreadPool {
public:
  /// `threads` counts the caller of `run`: 1 means that no thread is started.
  /// 0 takes the number of cores.
  explicit ThreadPool(std::size_t threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  std::size_t size() const noexcept {
    return threads_.size() + 1;
  }

  /// Calls `piece(i)` once for each i in [0, count), in any order and on any thread, and
  /// returns when all are done. `piece` must not throw.
  void run(std::size_t count, const std::function<void(std::size_t)>& piece);

private:
  struct Job;
  void work();

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> jobs_;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

} // namespace tinkaf::model

// SPDX-License-Identifier: Apache-2.0
#include "server/model/thread_pool.hpp"

#include <algorithm>
#include <atomic>

namespace tinkaf::model {

struct ThreadPool::Job {
  const std::function<void(std::size_t)>* piece = nullptr;
  std::size_t count = 0;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::condition_variable all_done;
  std::size_t done = 0;

  /// Works until no piece is left to start.
  void help() {
    for (;;) {
      const auto i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count)
        return;
      (*piece)(i);
      const std::lock_guard lock{mutex};
      if (++done == count)
        all_done.notify_all();
    }
  }
};

ThreadPool::ThreadPool(std::size_t threads) {
  if (threads == 0)
    threads = std::max<std::size_t>(1, std::thread::hardware_concurrency());
  threads_.reserve(threads - 1);
  for (std::size_t i = 1; i < threads; ++i)
    threads_.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock{mutex_};
    closing_ = true;
  }
  wake_.notify_all();
  for (auto& thread : threads_)
    thread.join();
}

void ThreadPool::run(std::size_t count, const std::function<void(std::size_t)>& piece) {
  if (count == 0)
    return;
  auto job = std::make_shared<Job>();
  job->piece = &piece;
  job->count = count;
  if (count > 1 && !threads_.empty()) {
    {
      const std::lock_guard lock{mutex_};
      jobs_.push_back(job);
    }
    wake_.notify_all();
  }
  job->help();
  {
    std::unique_lock lock{job->mutex};
    job->all_done.wait(lock, [&] { return job->done == job->count; });
  }
  const std::lock_guard lock{mutex_};
  std::erase(jobs_, job);
}

void ThreadPool::work() {
  for (;;) {
    std::shared_ptr<Job> job;
    {
      std::unique_lock lock{mutex_};
      wake_.wait(lock, [this] { return closing_ || !jobs_.empty(); });
      if (closing_)
        return;
      job = jobs_.front();
      // A job without unstarted pieces has nothing for us; its caller may not have removed it yet.
      if (job->next.load(std::memory_order_relaxed) >= job->count) {
        jobs_.pop_front();
        continue;
      }
    }
    job->help();
  }
}

} // namespace tinkaf::model

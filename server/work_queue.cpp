// SPDX-License-Identifier: Apache-2.0
#include "server/work_queue.hpp"

#include <utility>

namespace tinkaf::server {

WorkQueue::WorkQueue(std::size_t threads) {
  for (std::size_t i = 0; i < threads; ++i)
    threads_.emplace_back([this] { run(); });
}

WorkQueue::~WorkQueue() {
  stop();
}

void WorkQueue::post(const std::string& lane, Work work) {
  {
    const std::lock_guard lock{mutex_};
    if (stopping_.stop_requested())
      return;
    auto& queue = lanes_[lane];
    if (queue.empty())
      turns_.push_back(lane);
    queue.push_back(std::move(work));
  }
  wake_.notify_one();
}

void WorkQueue::stop() {
  std::map<std::string, std::deque<Work>> dropped; // destroyed without the lock
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock{mutex_};
    stopping_.request_stop();
    dropped.swap(lanes_);
    turns_.clear();
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (auto& thread : threads)
    thread.join();
}

void WorkQueue::run() {
  while (auto work = take())
    work(stopping_.get_token());
}

WorkQueue::Work WorkQueue::take() {
  std::unique_lock lock{mutex_};
  wake_.wait(lock, [this] { return stopping_.stop_requested() || !turns_.empty(); });
  if (stopping_.stop_requested())
    return {};
  const auto lane = std::move(turns_.front());
  turns_.pop_front();
  const auto found = lanes_.find(lane);
  auto work = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty())
    lanes_.erase(found);
  else
    turns_.push_back(lane);
  return work;
}

} // namespace tinkaf::server

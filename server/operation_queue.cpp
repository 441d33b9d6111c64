// SPDX-License-Identifier: Apache-2.0
#include "server/operation_queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tinkaf::server {

OperationQueue::Lookup OperationQueue::find(std::int64_t seq_id, const std::string& digest) const {
  const auto it = known_.find(seq_id);
  if (it == known_.end())
    return {.seen = seq_id < next_ ? Seen::given_up : Seen::fresh};
  if (it->second.digest != digest)
    return {.seen = Seen::reused};
  return {Seen::repeated, it->second.request_id, it->second.refusal};
}

std::vector<OperationQueue::Operation> OperationQueue::add(std::optional<std::int64_t> seq_id,
                                                           std::string digest, Operation operation,
                                                           TimePoint now) {
  if (!seq_id) {
    std::vector<Operation> ready;
    auto& line = waiting_.empty() ? ready : waiting_.rbegin()->second.followers;
    line.push_back(std::move(operation));
    return ready;
  }
  known_[*seq_id] = {std::move(digest), operation.request_id, {}};
  waiting_[*seq_id] = {.operation = std::move(operation), .followers = {}, .arrived = now};
  return advance();
}

std::vector<OperationQueue::Operation>
OperationQueue::refuse(std::int64_t seq_id, std::string digest, HttpReply refusal, TimePoint now) {
  known_[seq_id] = {std::move(digest), {}, std::make_shared<const HttpReply>(std::move(refusal))};
  waiting_[seq_id] = {.operation = {}, .followers = {}, .arrived = now};
  return advance();
}

std::vector<OperationQueue::Operation> OperationQueue::advance() {
  std::vector<Operation> ready;
  for (auto it = waiting_.find(next_); it != waiting_.end() && it->first == next_;
       it = waiting_.erase(it), ++next_) {
    if (it->second.operation)
      ready.push_back(std::move(*it->second.operation));
    std::move(it->second.followers.begin(), it->second.followers.end(), std::back_inserter(ready));
  }
  return ready;
}

std::optional<OperationQueue::Expired> OperationQueue::expire(TimePoint now,
                                                              std::chrono::milliseconds limit) {
  const auto late = [&](const auto& entry) { return now - entry.second.arrived >= limit; };
  if (std::none_of(waiting_.begin(), waiting_.end(), late))
    return std::nullopt;
  return give_up();
}

OperationQueue::Expired OperationQueue::give_up() {
  const auto missing = std::exchange(next_, waiting_.rbegin()->first + 1);
  return {missing, take_waiting()};
}

bool OperationQueue::waits(const std::string& request_id) const {
  const auto is_it = [&](const Operation& x) { return x.request_id == request_id; };
  return std::any_of(waiting_.begin(), waiting_.end(), [&](const auto& entry) {
    return (entry.second.operation && is_it(*entry.second.operation))
           || std::any_of(entry.second.followers.begin(), entry.second.followers.end(), is_it);
  });
}

std::vector<OperationQueue::Operation> OperationQueue::take_waiting() {
  std::vector<Operation> taken;
  for (auto& [seq_id, entry] : waiting_) {
    if (entry.operation)
      taken.push_back(std::move(*entry.operation));
    std::move(entry.followers.begin(), entry.followers.end(), std::back_inserter(taken));
  }
  waiting_.clear();
  return taken;
}

} // namespace tinkaf::server

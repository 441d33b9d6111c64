// SPDX-License-Identifier: Apache-2.0
#include "server/future_store.hpp"

#include "api/wire/future.hpp"
#include "server/ids.hpp"
#include "server/journal/records.hpp"
#include "server/replies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace tinkaf::server {

namespace {

constexpr std::chrono::seconds sweep_interval{1};

/// Between tries to write what could not be written.
constexpr std::chrono::milliseconds write_interval{100};

HttpReply encoded(const FuturePoll& poll, const std::string& request_id,
                  const std::string& accept) {
  auto body = wire::write_future(poll, request_id, accept);
  if (!body)
    body = wire::write_future(
        FutureFailed{.error = "the result cannot be sent: " + body.error().message,
                     .category = ErrorCategory::server},
        request_id, accept);
  return {.content_type = std::move(body->content_type),
          .body = std::make_shared<const std::string>(std::move(body->body))};
}

/// The `Accept` of the form in which a result is logged: one that loses nothing.
const char* stored_as(RequestType type) {
  const bool tensors = type == RequestType::forward || type == RequestType::forward_backward
                       || type == RequestType::sample;
  return tensors ? "application/x-protobuf" : "application/json";
}

std::size_t size_of(const HttpReply& reply) {
  return reply.body ? reply.body->size() : 0;
}

} // namespace

FutureStore::FutureStore(const ServerLimits& limits, std::function<Timestamp()> wall, Look look)
    : limits_(limits), wall_(std::move(wall)), look_(std::move(look)), prefix_(make_uuid()) {}

std::string FutureStore::open(RequestType type, std::shared_ptr<RecordLog> log, TimePoint now) {
  const std::lock_guard lock{mutex_};
  auto id = fmt::format("{}:{}", prefix_, ++count_);
  auto& future = futures_[id];
  future.type = type;
  future.log = std::move(log);
  future.opened = now;
  join_line(future);
  return id;
}

void FutureStore::drop(const std::string& request_id) {
  const std::lock_guard lock{mutex_};
  const auto found = futures_.find(request_id);
  if (found == futures_.end())
    return;
  leave_line(found->second);
  futures_.erase(found);
}

void FutureStore::join_line(Future& future) {
  future.place = ++last_place_;
  lines_[future.log.get()].insert(future.place);
  ++pending_;
}

void FutureStore::leave_line(Future& future) {
  const auto line = lines_.find(future.log.get());
  if (line == lines_.end() || line->second.erase(future.place) == 0)
    return;
  --pending_;
  if (line->second.empty())
    lines_.erase(line);
}

QueueView FutureStore::view(const std::string& request_id, TimePoint now) const {
  QueueView out;
  std::shared_ptr<RecordLog> log;
  {
    const std::lock_guard lock{mutex_};
    const auto found = futures_.find(request_id);
    if (found == futures_.end())
      return out;
    const auto& future = found->second;
    log = future.log;
    out.total = pending_;
    out.waited = now - future.opened;
    if (!future.unwritten.empty()) {
      out.state = QueueState::paused_capacity;
      out.reason = future.unwritten;
    }
    if (const auto line = lines_.find(log.get()); line != lines_.end())
      out.depth = static_cast<std::size_t>(
          std::distance(line->second.begin(), line->second.lower_bound(future.place)));
  }
  if (look_)
    look_(request_id, log.get(), out);
  return out;
}

void FutureStore::restore_pending(const std::string& request_id, RequestType type,
                                  std::shared_ptr<RecordLog> log) {
  const std::lock_guard lock{mutex_};
  auto& future = futures_[request_id];
  future.type = type;
  future.log = std::move(log);
  future.opened = std::chrono::steady_clock::now();
  join_line(future);
}

void FutureStore::restore(const std::string& request_id, FuturePoll result, TimePoint finished,
                          std::optional<TimePoint> delivered, std::size_t bytes,
                          std::shared_ptr<RecordLog> log) {
  const std::lock_guard lock{mutex_};
  auto& future = futures_[request_id];
  future.log = std::move(log);
  future.outcome = std::make_shared<Outcome>();
  future.outcome->poll = std::move(result);
  future.finished = finished;
  future.delivered = delivered;
  if (!delivered)
    return;
  future.bytes = bytes;
  delivered_.push_back(request_id);
  delivered_bytes_ += bytes;
}

void FutureStore::restore_expired(const std::string& request_id, TimePoint expired,
                                  std::shared_ptr<RecordLog> log) {
  const std::lock_guard lock{mutex_};
  auto& future = futures_[request_id];
  future.log = std::move(log);
  future.expired = true;
  future.finished = expired;
}

FutureStore::State FutureStore::state(const std::string& request_id) const {
  const std::lock_guard lock{mutex_};
  const auto it = futures_.find(request_id);
  if (it == futures_.end())
    return State::unknown;
  if (it->second.expired)
    return State::expired;
  return it->second.outcome ? State::kept : State::pending;
}

void FutureStore::finish(const std::string& request_id, Result<FutureValue> result, TimePoint now,
                         std::optional<RunCounts> counts) {
  auto outcome = std::make_shared<Outcome>();
  if (result)
    outcome->poll = std::move(*result);
  else
    outcome->poll
        = FutureFailed{.error = result.error().message, .category = result.error().category};
  const auto pending = [&]() -> Future* { // with the mutex
    const auto it = futures_.find(request_id);
    return it == futures_.end() || it->second.outcome || it->second.expired ? nullptr : &it->second;
  };
  std::shared_ptr<RecordLog> log;
  auto type = RequestType::create_model;
  {
    const std::lock_guard lock{mutex_};
    const auto* future = pending();
    if (future == nullptr)
      return;
    log = future->log;
    type = future->type;
  }
  if (log)
    if (auto written = write(request_id, type, *log, *outcome, counts); !written && !result) {
      const std::lock_guard lock{mutex_};
      if (auto* future = pending()) {
        future->unwritten = "what came of it cannot be written down: " + written.error().message;
        unwritten_.push_back({request_id, std::move(result.error()), std::move(counts)});
      }
      return;
    }
  std::vector<std::shared_ptr<Poll>> polls;
  {
    const std::lock_guard lock{mutex_};
    auto* future = pending();
    if (future == nullptr)
      return;
    leave_line(*future);
    future->outcome = outcome;
    future->finished = now;
    for (auto& poll : std::exchange(future->polls, {}))
      if (!std::exchange(poll->answered, true))
        polls.push_back(std::move(poll));
  }
  for (const auto& poll : polls)
    deliver(outcome, *poll, now);
}

Result<void> FutureStore::write(const std::string& request_id, RequestType type, RecordLog& log,
                                Outcome& outcome, std::optional<RunCounts> counts) const {
  const auto reply = encode(outcome, {.request_id = request_id, .accept = stored_as(type)});
  return append(log, RecordKind::done,
                OutcomeNote{.request_id = request_id,
                            .type = type,
                            .time = wall_now(),
                            .failed = std::holds_alternative<FutureFailed>(outcome.poll),
                            .content_type = reply.content_type,
                            .counts = std::move(counts)},
                *reply.body);
}

Timestamp FutureStore::wall_now() const {
  return wall_ ? wall_()
               : std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

void FutureStore::poll(const std::string& request_id, bool metadata_allowed,
                       const std::string& accept, const Responder& responder, TimePoint now) {
  auto poll = std::make_shared<Poll>(Poll{responder, request_id, accept, metadata_allowed, false});
  std::shared_ptr<Outcome> outcome;
  {
    const std::lock_guard lock{mutex_};
    const auto it = futures_.find(request_id);
    if (it == futures_.end())
      return responder.send(
          error_reply(404, fmt::format("request_id: no request is called `{}`", request_id)));
    auto& future = it->second;
    if (future.expired)
      return responder.send(error_reply(
          410, fmt::format("request_id: the result of `{}` is no longer kept", request_id)));
    outcome = future.outcome;
    if (!outcome && closed_)
      return responder.send(error_reply(503, *closed_));
    if (!outcome) {
      std::erase_if(future.polls, [](const auto& other) { return other->answered; });
      future.polls.push_back(poll);
      held_.emplace_back(now + limits_.poll_hold, std::move(poll));
      return;
    }
  }
  deliver(outcome, *poll, now);
}

HttpReply FutureStore::encode(Outcome& outcome, const Poll& poll) const {
  const bool protobuf = poll.accept.find("protobuf") != std::string::npos;
  const std::lock_guard lock{outcome.mutex};
  auto& reply = outcome.encoded[protobuf ? 1 : 0];
  if (!reply)
    reply = encoded(outcome.poll, poll.request_id, poll.accept);
  return *reply;
}

void FutureStore::deliver(const std::shared_ptr<Outcome>& outcome, const Poll& poll,
                          TimePoint now) {
  auto reply = encode(*outcome, poll);
  const auto bytes = size_of(reply);
  if (poll.metadata_allowed && bytes > limits_.announce_bytes)
    reply = encoded(FutureTooLarge{static_cast<std::int64_t>(bytes)}, poll.request_id, poll.accept);
  else
    note_delivery(poll.request_id, bytes, now);
  poll.responder.send(std::move(reply));
}

void FutureStore::note_delivery(const std::string& request_id, std::size_t bytes, TimePoint now) {
  const std::lock_guard lock{mutex_};
  const auto it = futures_.find(request_id);
  if (it == futures_.end() || it->second.expired || it->second.delivered)
    return;
  if (it->second.log)
    (void)append(*it->second.log, RecordKind::delivered, TimeNote{request_id, wall_now()});
  it->second.delivered = now;
  it->second.bytes = bytes;
  delivered_.push_back(request_id);
  delivered_bytes_ += bytes;
  while (delivered_bytes_ > limits_.delivered_bytes && delivered_.front() != request_id) {
    const auto oldest = futures_.find(delivered_.front());
    delivered_.pop_front();
    if (oldest == futures_.end() || oldest->second.expired)
      continue;
    expire(oldest->second, now);
    if (oldest->second.log)
      (void)append(*oldest->second.log, RecordKind::expired, TimeNote{oldest->first, wall_now()});
  }
}

void FutureStore::expire(Future& future, TimePoint now) {
  if (future.delivered)
    delivered_bytes_ -= future.bytes;
  future.expired = true;
  future.finished = now;
  future.outcome.reset();
}

void FutureStore::tick(TimePoint now) {
  std::vector<std::shared_ptr<Poll>> over;
  std::vector<Unwritten> unwritten;
  {
    const std::lock_guard lock{mutex_};
    if (now - rewritten_ >= write_interval) {
      rewritten_ = now;
      unwritten = std::exchange(unwritten_, {});
    }
    for (; !held_.empty() && held_.front().first <= now; held_.pop_front())
      if (!std::exchange(held_.front().second->answered, true))
        over.push_back(std::move(held_.front().second));
    if (now - swept_ >= sweep_interval)
      sweep(now);
  }
  for (auto& failure : unwritten)
    finish(failure.request_id, fail(std::move(failure.error)), now, std::move(failure.counts));
  for (const auto& poll : over)
    poll->responder.send(
        HttpReply::json(200, write_queue_view(view(poll->request_id, now), poll->request_id, now)));
}

void FutureStore::sweep(TimePoint now) {
  swept_ = now;
  for (auto it = futures_.begin(); it != futures_.end();) {
    auto& future = it->second;
    if (future.expired && now - future.finished >= limits_.expired_memory) {
      it = futures_.erase(it);
      continue;
    }
    if (future.outcome
        && (future.delivered ? now - *future.delivered >= limits_.delivered_retention
                             : now - future.finished >= limits_.undelivered_retention))
      expire(future, now);
    ++it;
  }
  while (!delivered_.empty()) {
    const auto oldest = futures_.find(delivered_.front());
    if (oldest != futures_.end() && !oldest->second.expired)
      break;
    delivered_.pop_front();
  }
}

void FutureStore::close(const std::string& reason) {
  std::vector<std::shared_ptr<Poll>> polls;
  {
    const std::lock_guard lock{mutex_};
    closed_ = reason;
    for (auto& [time, poll] : std::exchange(held_, {}))
      if (!std::exchange(poll->answered, true))
        polls.push_back(std::move(poll));
  }
  for (const auto& poll : polls)
    poll->responder.send(error_reply(503, reason));
}

} // namespace tinkaf::server

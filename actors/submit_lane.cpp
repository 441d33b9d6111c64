// SPDX-License-Identifier: Apache-2.0
#include "actors/submit_lane.hpp"

#include "actors/ask_again.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace tinkaf {

namespace {

/// What is known about the number of a request that failed.
enum class Fate { never_left, used_up, unknown };

/// True for a refusal at the door: whoever gave it has not read the number.
bool refused_unread(int status) {
  return status == 401 || status == 402 || status == 403 || status == 405 || status == 413
         || status == 415;
}

Fate fate_of(const Error& error) {
  if (error.code == Errc::connection || refused_unread(error.http_status))
    return error.ambiguous ? Fate::unknown : Fate::never_left;
  // A 2xx that cannot be read: the service took the request, unless somebody else answered.
  if (error.http_status >= 200 && error.http_status < 300)
    return error.ambiguous ? Fate::unknown : Fate::used_up;
  if (error.http_status >= 400 && error.http_status < 500 && error.http_status != 408
      && error.http_status != 429)
    return Fate::used_up;
  return Fate::unknown;
}

bool is_training_pass(RequestType type) {
  return type == RequestType::forward || type == RequestType::forward_backward;
}

/// What a turn is, for messages.
std::string describe(const NumberedTurn& turn) {
  if (turn.empty())
    return "nothing";
  auto text = std::string{to_string(turn.front().type)};
  return turn.size() == 1 ? text : text + " in " + std::to_string(turn.size()) + " parts";
}

/// Why a lane ends in which a number may or may not be used.
Error lost_on_its_way(Error cause) {
  cause.message = "an earlier operation was lost on its way, so that later ones cannot be "
                  "numbered; go on from the last checkpoint with a new client (cause: "
                  + cause.message + ")";
  cause.code = Errc::request_failed;
  return cause;
}

/// Says of a result that was there in an earlier life of the client that it is no more.
Error name_lost_result(const NumberedRequest& request, Error error) {
  if (error.http_status != 404 && error.http_status != 410)
    return error;
  error.code = Errc::future_expired;
  error.message = std::string{"the service no longer has the result of "} + to_string(request.type)
                  + " with seq_id " + std::to_string(request.seq_id)
                  + "; go on from the last checkpoint with a new client (" + error.message + ")";
  return error;
}

} // namespace

SubmitLane::SubmitLane(Self self, Settings settings)
    : self_(self), settings_(std::move(settings)),
      left_(settings_.attached.open.begin(), settings_.attached.open.end()),
      next_seq_id_(settings_.attached.next_seq_id) {
  if (!settings_.attached.model_id.empty())
    open(settings_.attached.model_id);
}

void SubmitLane::Collector::finish(Result<std::vector<FutureValue>> result) {
  if (auto call = std::exchange(done, nullptr))
    call(std::move(result));
}

void SubmitLane::Collector::on_value(std::size_t part, FutureValue value) {
  values[part] = std::move(value);
  if (--missing > 0 || !done)
    return;
  std::vector<FutureValue> all;
  all.reserve(values.size());
  for (auto& x : values)
    all.push_back(std::move(*x));
  finish(std::move(all));
}

void SubmitLane::Collector::on_failure(std::size_t part, Error error) {
  if (values.size() > 1) {
    error.message += " (part " + std::to_string(part + 1) + " of " + std::to_string(values.size())
                     + " of the batch)";
    error.parts = static_cast<std::uint32_t>(values.size());
    error.accepted_parts = error.parts;
  }
  finish(fail(std::move(error)));
}

void SubmitLane::open(std::string model_id) {
  settings_.target.model_id = std::move(model_id);
  open_ = true;
  begin_next();
}

void SubmitLane::close(Error reason) {
  closed_ = std::move(reason);
  for (auto& turn : std::exchange(waiting_, {}))
    turn.done(fail(*closed_));
}

void SubmitLane::lose(const Error& cause) {
  auto reason = lost_on_its_way(cause);
  if (settings_.notes)
    self_->send(settings_.notes, atom::lost_v, reason);
  close(std::move(reason));
}

void SubmitLane::add(SubmitTurn turn) {
  if (closed_) {
    turn.done(fail(*closed_));
    return;
  }
  waiting_.push_back(std::move(turn));
  begin_next();
}

void SubmitLane::resume(std::uint64_t holder, std::optional<SubmitTurn> next) {
  if (holder_ == holder)
    holder_ = 0;
  if (next && closed_)
    next->done(fail(*closed_));
  else if (next)
    waiting_.push_front(std::move(*next));
  begin_next();
}

void SubmitLane::withdraw(std::uint64_t holder) {
  std::erase_if(waiting_, [holder](const SubmitTurn& x) { return x.holder == holder; });
  resume(holder);
}

void SubmitLane::begin_next() {
  // A turn that ends at once comes back here: the loop below goes on with the next.
  if (std::exchange(beginning_, true))
    return;
  while (open_ && !active_ && holder_ == 0 && !waiting_.empty()) {
    auto turn = std::move(waiting_.front());
    waiting_.pop_front();
    holder_ = turn.holder;
    begin(std::move(turn));
  }
  beginning_ = false;
}

void SubmitLane::begin(SubmitTurn turn) {
  auto numbers = next_numbers(turn);
  if (!numbers) {
    turn.done(fail(numbers.error()));
    if (settings_.notes)
      self_->send(settings_.notes, atom::lost_v, numbers.error());
    return close(std::move(numbers.error()));
  }
  auto reused = turn.numbered && !left_.empty();
  if (reused)
    left_.pop_front();
  auto count = turn.parts.size();
  auto collector = std::make_shared<Collector>();
  collector->values.resize(count);
  collector->missing = count;
  collector->done = std::move(turn.done);
  active_.emplace(Active{.turn = std::move(turn),
                         .numbers = std::move(*numbers),
                         .reused = reused,
                         .calls = {},
                         .errors = std::vector<std::optional<Error>>(count),
                         .accepted = std::vector<bool>(count),
                         .grants = std::vector<std::optional<std::uint64_t>>(count),
                         .phases = {},
                         .unanswered = 0,
                         .collector = std::move(collector)});
  draw_sampler_number();
}

Result<NumberedTurn> SubmitLane::next_numbers(const SubmitTurn& turn) const {
  NumberedTurn numbers;
  for (const auto& part : turn.parts)
    numbers.push_back({.seq_id = next_seq_id_ + static_cast<std::int64_t>(numbers.size()),
                       .type = part.type,
                       .accepted = {},
                       .sampling_session_seq_id = {}});
  if (!turn.numbered || left_.empty())
    return numbers;
  const auto& noted = left_.front();
  auto same = std::equal(noted.begin(), noted.end(), numbers.begin(), numbers.end(),
                         [](const auto& x, const auto& y) { return x.type == y.type; });
  if (same)
    return noted;
  return fail(Errc::conflict, "seq_id " + std::to_string(noted.front().seq_id) + " was used for "
                                  + describe(noted) + ", but is asked for as " + describe(numbers)
                                  + ": this is not the job that was noted; start it anew or give "
                                    "it the arguments that it had");
}

void SubmitLane::draw_sampler_number() {
  const auto& part = active_->turn.parts.front();
  auto& number = active_->numbers.front().sampling_session_seq_id;
  if (!part.for_sampler || number)
    return encode();
  self_->request(settings_.session, caf::infinite, atom::sampler_number_v)
      .then(
          [this](std::int64_t drawn) {
            active_->numbers.front().sampling_session_seq_id = drawn;
            encode();
          },
          [this](const caf::error& error) { abandon(from_caf(error)); });
}

void SubmitLane::encode() {
  for (std::size_t i = 0; i < active_->turn.parts.size(); ++i) {
    auto call = active_->turn.parts[i].encode(active_->numbers[i], target());
    if (!call)
      return abandon(std::move(call.error()));
    active_->calls.push_back(std::move(*call));
  }
  note();
}

void SubmitLane::note() {
  if (!settings_.notes || !active_->turn.numbered)
    return start();
  self_->request(settings_.notes, caf::infinite, active_->turn.asked, active_->numbers)
      .then([this](Done) { start(); },
            [this](const caf::error& error) { abandon(from_caf(error)); });
}

void SubmitLane::abandon(Error error) {
  auto ended = std::exchange(active_, std::nullopt);
  if (ended->reused)
    lose(error); // the service may wait for the number
  ended->collector->finish(fail(std::move(error)));
  begin_next();
}

void SubmitLane::start() {
  std::vector<std::size_t> parts;
  for (std::size_t i = 0; i < active_->numbers.size(); ++i) {
    if (const auto& known = active_->numbers[i].accepted) {
      active_->accepted[i] = true;
      await_result(i, *known, std::nullopt);
    } else {
      parts.push_back(i);
    }
  }
  if (settings_.parallel_chunks && parts.size() > 1 && parts.front() == 0) {
    active_->phases.emplace_back(parts.begin() + 1, parts.end());
    active_->phases.push_back({0});
  } else if (settings_.parallel_chunks && !parts.empty()) {
    active_->phases.push_back(std::move(parts));
  } else {
    for (auto part : parts)
      active_->phases.push_back({part});
  }
  if (active_->phases.empty())
    end_turn();
  else
    next_phase();
}

void SubmitLane::next_phase() {
  auto parts = std::move(active_->phases.front());
  active_->phases.pop_front();
  active_->unanswered = parts.size();
  for (auto part : parts)
    if (active_->turn.parts[part].bytes > 0 && settings_.budget)
      acquire(part);
    else
      send(part, std::move(active_->calls[part]), !target().protobuf);
}

void SubmitLane::acquire(std::size_t part) {
  auto go_on = [this, part] { send(part, std::move(active_->calls[part]), !target().protobuf); };
  ask_supervised(
      self_, settings_.budget,
      [this, part, go_on](std::uint64_t grant) {
        active_->grants[part] = grant;
        go_on();
      },
      // A budget that is gone limits nothing.
      [go_on](const caf::error&) { go_on(); }, atom::acquire_v, active_->turn.parts[part].bytes);
}

void SubmitLane::send(std::size_t part, HttpCall call, bool as_json) {
  auto accepted = [this, part, sent = self_->clock().now(), as_json](const HttpResponse& response) {
    on_accepted(part, response, sent, as_json);
  };
  auto refused = [this, part, as_json](const caf::error& error) {
    auto ours = from_caf(error);
    // An HTTP actor that broke may have sent the request before.
    ours.ambiguous = ours.ambiguous || has_broken(error);
    on_refused(part, std::move(ours), as_json);
  };
  // The service knows a repeat by its number.
  if (active_->turn.numbered)
    ask_supervised(self_, settings_.http, accepted, refused, std::move(call));
  else
    self_->request(settings_.http, caf::infinite, std::move(call)).then(accepted, refused);
}

void SubmitLane::on_accepted(std::size_t part, const HttpResponse& response,
                             std::chrono::steady_clock::time_point sent, bool as_json) {
  auto type = active_->turn.parts[part].type;
  auto submitted = operations::read_submission(type, response);
  if (!submitted) {
    submitted.error().http_status = response.status;
    on_refused(part, std::move(submitted.error()), true);
    return;
  }
  if (is_training_pass(type)) {
    if (!as_json) {
      protobuf_confirmed_ = true;
    } else if (target().protobuf) {
      settings_.target.protobuf = false;
      settings_.on_fall_back();
    }
  }
  active_->errors[part].reset();
  active_->accepted[part] = true;
  if (auto* future = std::get_if<FutureRef>(&*submitted)) {
    if (settings_.notes && active_->turn.numbered)
      self_->send(settings_.notes, atom::accepted_v, active_->numbers[part].seq_id, *future);
    await_result(
        part, std::move(*future),
        std::chrono::duration_cast<std::chrono::microseconds>(self_->clock().now() - sent));
  } else
    active_->collector->on_value(part, std::move(std::get<FutureValue>(*submitted)));
  answered(part);
}

void SubmitLane::on_refused(std::size_t part, Error error, bool as_json) {
  if (fall_back(part, error, as_json))
    return;
  // Behind a fall-back there is an answer already; it counts unless less is known now.
  if (!active_->errors[part] || fate_of(error) == Fate::unknown)
    active_->errors[part] = std::move(error);
  if (!settings_.parallel_chunks)
    active_->phases.clear(); // what has not left yet keeps its numbers free
  answered(part);
}

bool SubmitLane::fall_back(std::size_t part, const Error& error, bool as_json) {
  const auto& wanted = active_->turn.parts[part];
  auto refused = error.http_status == 400 || error.http_status == 415 || error.http_status == 422;
  if (as_json || !refused || protobuf_confirmed_ || !settings_.may_fall_back
      || !is_training_pass(wanted.type))
    return false;
  auto json = target();
  json.protobuf = false;
  auto call = wanted.encode(active_->numbers[part], json);
  if (!call)
    return false;
  // If JSON is refused too, it was not for the format: then the first answer counts.
  active_->errors[part] = error;
  send(part, std::move(*call), true);
  return true;
}

void SubmitLane::answered(std::size_t part) {
  if (auto grant = std::exchange(active_->grants[part], std::nullopt))
    self_->send(settings_.budget, atom::release_v, *grant);
  if (--active_->unanswered > 0)
    return;
  if (!active_->phases.empty())
    next_phase();
  else
    end_turn();
}

void SubmitLane::end_turn() {
  auto failed = std::any_of(active_->errors.begin(), active_->errors.end(),
                            [](const auto& x) { return x.has_value(); });
  settle_numbers();
  if (failed && settings_.notes && active_->turn.numbered)
    self_->send(settings_.notes, atom::settled_v, active_->turn.asked, next_seq_id_);
  if (failed)
    active_->collector->finish(fail(explain_failure()));
  active_.reset();
  begin_next();
}

void SubmitLane::settle_numbers() {
  if (!active_->turn.numbered)
    return;
  std::size_t used = 0; // parts up to the last one that the service may know
  bool certain = true;
  for (std::size_t i = 0; i < active_->errors.size(); ++i) {
    const auto& error = active_->errors[i];
    auto fate = active_->accepted[i] ? Fate::used_up : error ? fate_of(*error) : Fate::never_left;
    // What did not leave this time may have done so before.
    if (active_->reused && fate == Fate::never_left)
      fate = Fate::unknown;
    certain = certain && fate != Fate::unknown;
    if (fate == Fate::never_left)
      continue;
    certain = certain && used == i;
    used = i + 1;
  }
  if (!active_->reused)
    next_seq_id_ = active_->numbers.front().seq_id + static_cast<std::int64_t>(used);
  if (!certain)
    lose(explain_failure());
}

Error SubmitLane::explain_failure() const {
  auto first = std::find_if(active_->errors.begin(), active_->errors.end(),
                            [](const auto& x) { return x.has_value(); });
  auto error = **first;
  if (active_->accepted.size() < 2)
    return error;
  auto accepted = std::count(active_->accepted.begin(), active_->accepted.end(), true);
  error.parts = static_cast<std::uint32_t>(active_->accepted.size());
  error.accepted_parts = static_cast<std::uint32_t>(accepted);
  if (accepted > 0)
    error.message += " (" + std::to_string(accepted) + " of " + std::to_string(error.parts)
                     + " parts of the batch were accepted and take effect)";
  return error;
}

void SubmitLane::await_result(std::size_t part, FutureRef future,
                              std::optional<std::chrono::microseconds> roundtrip) {
  auto job = PollJob{std::move(future), active_->turn.parts[part].type, self_->clock().now(),
                     roundtrip, active_->turn.call};
  ask_supervised(
      self_, settings_.pollers,
      [collector = active_->collector, part](FutureValue& value) {
        collector->on_value(part, std::move(value));
      },
      [collector = active_->collector, part, reused = active_->reused,
       request = active_->numbers[part]](const caf::error& error) {
        auto ours = from_caf(error);
        collector->on_failure(part, reused ? name_lost_result(request, std::move(ours))
                                           : std::move(ours));
      },
      std::move(job));
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "engine/pipeline.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace tinkaf {

namespace {

/// The requests of an operation, in the order in which they take effect.
struct Requests {
  using List = std::deque<EngineRequest>;

  List operator()(const TrainOp& op) const {
    List result;
    if (const auto* custom = std::get_if<Custom>(&op.loss))
      result.emplace_back(SubmitCustom{op.datums, custom->fn});
    else
      result.emplace_back(SubmitForwardBackward{op.datums});
    result.emplace_back(SubmitOptimStep{{.learning_rate = op.lr}});
    return result;
  }

  List operator()(const ScoreOp& op) const {
    return {SubmitForward{op.datums}};
  }

  List operator()(const SnapshotOp& op) const {
    const SaveWeightsOptions options{.ttl = op.ttl};
    List result{SubmitSamplerSave{op.name, options}, SubmitStateSave{op.name, options}};
    if (has_eval(op))
      result.emplace_back(SubmitForward{op.eval});
    return result;
  }
};

const char* kind_of(const Op& op) {
  constexpr const char* names[] = {"train", "score", "snapshot"};
  return names[op.index()];
}

template <class T>
const T* find(const std::vector<EngineAnswer>& answers) {
  for (const auto& answer : answers)
    if (const auto* found = std::get_if<T>(&answer))
      return found;
  return nullptr;
}

/// What can be told of a snapshot's saves; empty paths where there is none.
SavedPaths saved_paths(const SnapshotOp& op, const std::vector<EngineAnswer>& answers) {
  SavedPaths result{.name = op.name, .sampler_path = {}, .state_path = {}};
  if (const auto* sampler = find<SaveWeightsForSamplerResponse>(answers))
    result.sampler_path = sampler->path.value_or("");
  if (const auto* state = find<SaveWeightsResponse>(answers))
    result.state_path = state->path;
  return result;
}

/// Calls a source, which is the caller's: what it throws becomes an error.
Result<std::optional<Op>> draw_from(const OpSource& source) {
  try {
    return source();
  } catch (const std::exception& broken) {
    return fail(Errc::invalid_argument,
                fmt::format("the source of the schedule threw: {}", broken.what()));
  } catch (...) {
    return fail(Errc::invalid_argument, "the source of the schedule threw something");
  }
}

/// An error as that of an operation.
Error of_op(Error error, std::size_t index, const Op& op, const char* what) {
  error.message = fmt::format("schedule[{}] ({}){} {}", index, kind_of(op), what, error.message);
  return error;
}

/// Makes results of answers that are complete.
struct Results {
  std::vector<EngineAnswer>& answers;

  Result<OpResult> operator()(TrainOp& op) const {
    return TrainDone{std::move(op), std::get<ForwardBackwardOutput>(std::move(answers[0]))};
  }

  Result<OpResult> operator()(ScoreOp& op) const {
    auto output = std::get<ForwardBackwardOutput>(std::move(answers[0]));
    return ScoreDone{std::move(op), std::move(output.loss_fn_outputs)};
  }

  Result<OpResult> operator()(SnapshotOp& op) const {
    auto saved = saved_paths(op, answers);
    if (saved.sampler_path.empty() || saved.state_path.empty())
      return fail(Errc::protocol_error, "the service saved a checkpoint without telling its path");
    SnapshotDone done{std::move(op), std::move(saved.sampler_path), std::move(saved.state_path),
                      std::nullopt};
    if (answers.size() > 2)
      done.outputs = std::get<ForwardBackwardOutput>(std::move(answers[2])).loss_fn_outputs;
    return done;
  }
};

} // namespace

Pipeline::Pipeline(OpSource source, std::shared_ptr<SpendCap> cap)
    : source_(std::move(source)), cap_(std::move(cap)) {}

Pipeline::Pipeline(Schedule schedule, std::shared_ptr<SpendCap> cap) : cap_(std::move(cap)) {
  auto ops = std::make_shared<const Schedule>(std::move(schedule));
  source_ = [ops, at = std::size_t{0}]() mutable -> Result<std::optional<Op>> {
    if (at == ops->size())
      return std::nullopt;
    return (*ops)[at++];
  };
  check_whole_ = [ops, limit = cap_]() -> Result<void> {
    if (auto checked = check_ops(*ops); !checked || !limit)
      return checked;
    auto tokens = token_passes(*ops, limit->forwards());
    if (!tokens)
      return fail(std::move(tokens.error()));
    return limit->check(*tokens);
  };
}

Pipeline::~Pipeline() {
  if (cap_)
    for (const auto& op : in_flight_)
      cap_->settle(op.tokens);
}

Pipeline::Action Pipeline::next() {
  while (!over_) {
    if (sending_)
      return send();
    if (!draining_ && take())
      continue;
    draining_ = true;
    if (in_flight_.empty()) {
      over_ = true;
      if (!failure_ && !deferred_)
        break;
      return end_failed();
    }
    if (!in_flight_.front().open.empty())
      return Wait{in_flight_.front().open.front()};
    auto result = finish();
    if (result) {
      draining_ = false;
      return std::move(*result);
    }
  }
  return End{};
}

bool Pipeline::has_room() const {
  return !deferred_ && !failure_ && !exhausted_ && steps_ < max_pending_steps;
}

bool Pipeline::take() {
  if (!has_room())
    return false;
  auto op = draw();
  if (!op) {
    refuse(std::move(op.error()));
    return false;
  }
  if (!*op) {
    exhausted_ = true;
    return false;
  }
  auto tokens = TokenPasses{};
  if (cap_) {
    auto counted = token_passes(**op, cap_->forwards());
    auto reserved = counted ? cap_->reserve(*counted) : fail(std::move(counted.error()));
    if (!reserved) {
      refuse(of_op(std::move(reserved.error()), next_op_, **op, " is not submitted:"));
      return false;
    }
    tokens = *counted;
  }
  auto requests = std::visit(Requests{}, **op);
  if (std::holds_alternative<TrainOp>(**op))
    ++steps_;
  in_flight_.push_back({.op = std::move(**op),
                        .index = next_op_++,
                        .tokens = tokens,
                        .to_send = std::move(requests)});
  sending_ = true;
  return true;
}

Result<std::optional<Op>> Pipeline::draw() {
  if (check_whole_)
    if (auto checked = std::exchange(check_whole_, nullptr)(); !checked)
      return fail(std::move(checked.error()));
  auto op = draw_from(source_);
  if (op && *op)
    if (auto checked = checker_.check(**op); !checked)
      return fail(std::move(checked.error()));
  return op;
}

void Pipeline::refuse(Error error) {
  deferred_ = std::move(error);
  deferred_op_ = next_op_;
}

Pipeline::Send Pipeline::send() {
  auto& newest = in_flight_.back();
  return {next_ticket_, newest.to_send.front()};
}

void Pipeline::submitted(Result<void> outcome) {
  auto& newest = in_flight_.back();
  if (outcome) {
    newest.open.push_back(next_ticket_++);
    newest.to_send.pop_front();
    sending_ = !newest.to_send.empty();
    return;
  }
  sending_ = false;
  newest.to_send.clear();
  auto index = newest.index;
  auto error = of_op(std::move(outcome.error()), index, newest.op, " could not be submitted:");
  if (newest.open.empty()) {
    if (cap_)
      cap_->release(newest.tokens);
    in_flight_.pop_back();
  } else {
    newest.half = true;
  }
  // Nobody waits any more: what is under way is told and left.
  if (error.code == Errc::cancelled) {
    failure_ = Failure{.error = std::move(error), .op = index, .in_flight = in_flight_.size()};
    if (cap_)
      for (const auto& op : in_flight_)
        cap_->settle(op.tokens);
    in_flight_.clear();
    return;
  }
  deferred_ = std::move(error);
  deferred_op_ = index;
}

void Pipeline::answered(Result<EngineAnswer> answer) {
  auto& oldest = in_flight_.front();
  oldest.open.pop_front();
  if (answer)
    oldest.answers.push_back(std::move(*answer));
  else if (!oldest.error)
    oldest.error = std::move(answer.error());
}

std::optional<OpResult> Pipeline::finish() {
  auto done = std::move(in_flight_.front());
  in_flight_.pop_front();
  if (cap_)
    cap_->settle(done.tokens);
  if (std::holds_alternative<TrainOp>(done.op))
    --steps_;
  if (!done.error && !failure_ && !done.half) {
    auto result = std::visit(Results{done.answers}, done.op);
    if (result)
      return std::move(*result);
    done.error = std::move(result.error());
  }
  note(done);
  return std::nullopt;
}

void Pipeline::note(const InFlight& done) {
  if (const auto* snapshot = std::get_if<SnapshotOp>(&done.op)) {
    auto saved = saved_paths(*snapshot, done.answers);
    if (!saved.sampler_path.empty() || !saved.state_path.empty())
      saved_.push_back(std::move(saved));
  }
  if (!done.error)
    return;
  auto error = of_op(*done.error, done.index, done.op, ":");
  if (failure_)
    failure_->behind.push_back(std::move(error));
  else
    failure_ = Failure{.error = std::move(error), .op = done.index, .in_flight = in_flight_.size()};
}

Failure Pipeline::end_failed() {
  if (!failure_) {
    failure_ = Failure{.error = std::move(*deferred_), .op = deferred_op_};
    deferred_.reset();
  }
  auto failure = std::move(*failure_);
  failure.deferred = std::move(deferred_);
  failure.saved = std::move(saved_);
  auto& message = failure.error.message;
  if (failure.in_flight > 0)
    message += fmt::format("; {} behind it had been submitted", failure.in_flight);
  for (const auto& saved : failure.saved)
    message += fmt::format("; saved under the name `{}`: sampler_path `{}`, state_path `{}`",
                           saved.name, saved.sampler_path, saved.state_path);
  return failure;
}

} // namespace tinkaf

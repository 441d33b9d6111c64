// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "engine/check.hpp"
#include "engine/engine_client.hpp"
#include "engine/results.hpp"
#include "engine/spend_cap.hpp"

namespace tinkaf {

/// Gives a schedule's operations one after the other, nothing behind the last. May go on for ever;
/// called only when there is room for one more. What it throws ends the schedule with an error.
using OpSource = std::function<Result<std::optional<Op>>()>;

/// Steps that may be submitted and not yet finished, the one that is waited for included: the
/// service has the next one at hand when it is done with one, which costs it one clock cycle a
/// step. More would only hold more work whose results nobody has seen.
inline constexpr std::size_t max_pending_steps = 2;

/// How a schedule is run, as a pure function of what has happened: what to submit, what to wait
/// for, what to hand out. Whoever runs one does what it says; see `Execution` and `ExecutionActor`.
///
/// Operations are submitted in order, as many steps ahead as `max_pending_steps` allows, before the
/// oldest is waited for; scores and snapshots ride along and do not count. What cannot be submitted
/// ends submission for good, and is told once all that was submitted has been handed out. An
/// operation that fails ends the run: those behind it are waited for and dropped, see `Failure`.
class Pipeline {
public:
  /// Submit this; then call `submitted`.
  struct Send {
    /// Counts requests, from 0.
    std::uint64_t ticket = 0;
    EngineRequest request;
  };

  /// Wait for the answer to this request; then call `answered`.
  struct Wait {
    std::uint64_t ticket = 0;
  };

  /// There is nothing more.
  struct End {};

  /// What to do next. Behind an `OpResult` the caller may wait as long as it likes; behind a
  /// `Failure` comes the end.
  using Action = std::variant<Send, Wait, OpResult, Failure, End>;

  /// @param cap limits what is submitted; none if null
  explicit Pipeline(OpSource source, std::shared_ptr<SpendCap> cap = {});

  /// Checks and prices the whole schedule before anything of it is submitted.
  explicit Pipeline(Schedule schedule, std::shared_ptr<SpendCap> cap = {});

  /// What is under way counts as spent.
  ~Pipeline();
  Pipeline(Pipeline&& other) noexcept = default;
  Pipeline& operator=(Pipeline&& other) = delete;

  [[nodiscard]] Action next();

  /// What became of the request of the last `Send`.
  void submitted(Result<void> outcome);

  /// The answer that the last `Wait` was for.
  void answered(Result<EngineAnswer> answer);

private:
  /// An operation that is submitted, or being submitted.
  struct InFlight {
    Op op;
    std::size_t index = 0;
    TokenPasses tokens;

    /// What is still to be submitted, in this order.
    std::deque<EngineRequest> to_send;

    /// What was submitted and is not answered.
    std::deque<std::uint64_t> open;

    /// In the order of the requests.
    std::vector<EngineAnswer> answers;

    /// The first thing that went wrong with its answers.
    std::optional<Error> error;

    /// Only a part of it could be submitted.
    bool half = false;
  };

  /// Takes the next operation if there is room for it; false if there is none.
  bool take();
  [[nodiscard]] Result<std::optional<Op>> draw();
  void refuse(Error error);
  [[nodiscard]] Send send();
  [[nodiscard]] bool has_room() const;

  /// The oldest operation has all its answers; nothing if nobody is to hear of it.
  [[nodiscard]] std::optional<OpResult> finish();

  /// Remembers what is to be told of an operation that is not handed out.
  void note(const InFlight& done);
  [[nodiscard]] Failure end_failed();

  OpSource source_;
  std::shared_ptr<SpendCap> cap_;

  /// What is wrong with the whole schedule.
  std::function<Result<void>()> check_whole_;

  OpChecker checker_;
  std::deque<InFlight> in_flight_;
  std::size_t next_op_ = 0;
  std::uint64_t next_ticket_ = 0;
  std::size_t steps_ = 0;
  bool sending_ = false;
  bool draining_ = false;
  bool exhausted_ = false;
  bool over_ = false;

  /// What kept an operation from being submitted, and which.
  std::optional<Error> deferred_;
  std::size_t deferred_op_ = 0;

  /// Set once an operation has failed.
  std::optional<Failure> failure_;

  /// Checkpoints of operations that are not handed out.
  std::vector<SavedPaths> saved_;
};

} // namespace tinkaf

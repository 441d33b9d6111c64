// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/http_actor.hpp"
#include "actors/training_notes.hpp"
#include "actors/training_operations.hpp"
#include "messages/interfaces.hpp"

#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace tinkaf {

/// One request of an operation.
struct SubmitPart {
  RequestType type = RequestType::forward_backward;

  /// Builds the request once its numbers are known.
  std::function<Result<HttpCall>(const NumberedRequest&, const operations::Target&)> encode;

  /// What the request takes of the budget while it is on its way; 0 for nothing.
  std::int64_t bytes = 0;

  /// Whether it needs a `sampling_session_seq_id`.
  bool for_sampler = false;
};

/// One operation: its requests, and who wants their results.
struct SubmitTurn {
  std::vector<SubmitPart> parts;

  /// Whether the parts take numbers.
  bool numbered = true;

  /// Gets the results in the order of the parts, or the first failure; called exactly once unless
  /// the actor ends before.
  std::function<void(Result<std::vector<FutureValue>>)> done;

  /// `PollJob::call` of its results.
  std::uint64_t call = 0;

  /// Set if the operation has a second turn, which depends on the results of this one: nothing
  /// behind this turn begins before `resume` is called with the same number.
  std::uint64_t holder = 0;

  /// The operation, as its notes are to name it.
  std::uint64_t asked = 0;
};

/// Submits the operations of one model one after the other, in the order of the calls of `add`, and
/// waits for their results side by side. Part of a training client, never blocks it.
///
/// Numbers are taken when a turn begins. They stay without gaps: what certainly never left gives
/// its number back, what the service refused has used it up, and where neither is certain the lane
/// ends: all later operations fail and say why. A batch in parts sends all parts but the first side
/// by side and the first one last, so that the service begins when it has them all.
///
/// A training pass takes its estimated bytes from the budget before it leaves and gives them back
/// once it is answered for good; the grants are those of the client's actor.
///
/// A turn's numbers are noted before its requests leave, and the names of its results as they come
/// in. A lane that goes on with a model (`Settings::attached`) gives the numbers of the open turns
/// first.
class SubmitLane {
public:
  using Self = TrainingWorkerActor::base*;

  struct Settings {
    HttpActor http;
    PollerSupervisorActor pollers;

    /// Source of `sampling_session_seq_id`.
    SessionActor session;

    operations::Target target;

    /// Remembers numbers; where it is invalid, nobody does.
    TrainingNotesActor notes;

    /// What an earlier lane of the same model has left.
    AttachTrainingClient attached;

    /// What training passes on their way may take together, those of all clients of a session.
    ByteBudgetActor budget;

    bool parallel_chunks = true;

    /// Change to JSON if the service refuses protobuf.
    bool may_fall_back = true;

    /// Called once when that has happened.
    std::function<void()> on_fall_back;
  };

  SubmitLane(Self self, Settings settings);

  /// Lets the turns begin, now that there is a model.
  void open(std::string model_id);

  /// Fails all turns, those to come as well.
  void close(Error reason);

  /// The same, because of a number of which nobody knows whether it is used up.
  void lose(const Error& cause);

  void add(SubmitTurn turn);

  /// Lets the lane go on behind the turn that holds it under that number, first with `next`; fails
  /// `next` if the lane has ended meanwhile.
  void resume(std::uint64_t holder, std::optional<SubmitTurn> next = {});

  /// Gives up a turn that holds the lane or is to hold it: takes it out if it has not begun, else
  /// lets the lane go on. Its `done` may still be called if it has begun.
  void withdraw(std::uint64_t holder);

  [[nodiscard]] const operations::Target& target() const noexcept {
    return settings_.target;
  }

private:
  /// Results of a turn as they come in; the first failure decides.
  struct Collector {
    std::vector<std::optional<FutureValue>> values;
    std::size_t missing = 0;
    std::function<void(Result<std::vector<FutureValue>>)> done;

    void finish(Result<std::vector<FutureValue>> result);
    void on_value(std::size_t part, FutureValue value);
    void on_failure(std::size_t part, Error error);
  };

  /// The turn whose requests are on their way.
  struct Active {
    SubmitTurn turn;

    /// One for each part; those of an open turn have left before.
    NumberedTurn numbers;
    bool reused = false;

    std::vector<HttpCall> calls;
    std::vector<std::optional<Error>> errors;
    std::vector<bool> accepted;

    /// What each part has of the budget.
    std::vector<std::optional<std::uint64_t>> grants;

    std::deque<std::vector<std::size_t>> phases;
    std::size_t unanswered = 0;
    std::shared_ptr<Collector> collector;
  };

  void begin_next();
  void begin(SubmitTurn turn);

  /// The numbers of the next turn: those of the first open turn, else new ones.
  /// @returns `Errc::conflict` if the open turn is another operation
  [[nodiscard]] Result<NumberedTurn> next_numbers(const SubmitTurn& turn) const;

  /// What has to be known before the requests leave, step by step.
  void draw_sampler_number();
  void encode();
  void note();
  void start();

  /// Ends the turn before any of its requests has left.
  void abandon(Error error);
  void next_phase();
  void acquire(std::size_t part);
  void send(std::size_t part, HttpCall call, bool as_json);
  void on_accepted(std::size_t part, const HttpResponse& response,
                   std::chrono::steady_clock::time_point sent, bool as_json);
  void on_refused(std::size_t part, Error error, bool as_json);
  [[nodiscard]] bool fall_back(std::size_t part, const Error& error, bool as_json);
  void answered(std::size_t part);
  void end_turn();
  void settle_numbers();
  [[nodiscard]] Error explain_failure() const;
  void await_result(std::size_t part, FutureRef future,
                    std::optional<std::chrono::microseconds> roundtrip);

  Self self_;
  Settings settings_;
  std::deque<SubmitTurn> waiting_;
  std::optional<Active> active_;
  std::optional<Error> closed_;
  std::uint64_t holder_ = 0;
  bool open_ = false;
  bool beginning_ = false;
  bool protobuf_confirmed_ = false;

  /// Numbers to be given before `next_seq_id_`.
  std::deque<NumberedTurn> left_;
  std::int64_t next_seq_id_ = 1;
};

} // namespace tinkaf

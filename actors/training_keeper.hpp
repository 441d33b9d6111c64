// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/client_context.hpp"
#include "actors/open_calls.hpp"
#include "actors/training_client.hpp"
#include "actors/training_notes.hpp"
#include "messages/interfaces.hpp"
#include "messages/restart_policy.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

/// What a training client owes, and what has become of it: the promises of those who asked, what
/// they asked for, and the numbers that it has taken. It does no parsing, no arithmetic and no I/O,
/// so that nothing here can break by itself; a worker does all that.
///
/// A worker that breaks is started again attached to the model, and what is not answered is asked
/// of it again in the old order: what the service has accepted is waited for, and what it may not
/// have is sent under its old number. A custom loss whose function has returned is not computed
/// again.
struct TrainingKeeperState {
  using SelfPointer = TrainingKeeperActor::stateful_pointer<TrainingKeeperState>;

  enum class Kind : std::uint8_t {
    /// Its requests have numbers.
    numbered,
    custom_loss,

    /// Asks the service nothing that it would mind to be asked twice.
    question,

    /// Has no number by which the service knows a repeat.
    once,
  };

  struct Operation {
    Kind kind = Kind::numbered;

    /// Asks the worker; returns the id of the request.
    std::function<std::uint64_t(std::uint64_t)> ask;

    /// Fails the promise.
    std::function<void(Error)> fail;

    /// The numbers that it has taken.
    std::vector<NumberedTurn> turns;

    /// What the function of a custom loss has given.
    LinearLossOutcome computed;

    /// The id of the request by which the worker was asked.
    std::uint64_t request = 0;

    /// Nobody waits for it any more; it is here for its numbers, which the service waits for.
    bool given_up = false;
  };

  explicit TrainingKeeperState(SelfPointer ptr) : self(ptr), calls(ptr, true) {}

  /// Stops the worker.
  ~TrainingKeeperState();
  TrainingKeeperState(const TrainingKeeperState&) = delete;
  TrainingKeeperState& operator=(const TrainingKeeperState&) = delete;

  // --- what is asked for

  template <class T, class... Args>
  caf::typed_response_promise<T> keep(Kind kind, Args... args);
  caf::typed_response_promise<ForwardBackwardOutput> custom_loss(Batch data, CustomLossFn loss);

  /// Waits for the worker's answer to an operation.
  template <class T, class Request>
  std::uint64_t follow(Request request, std::uint64_t id, const Owed<T>& answer);
  template <class T>
  std::uint64_t add(Kind kind, const Owed<T>& answer);
  void ask(std::uint64_t id);

  /// The operation has its answer.
  void settle(std::uint64_t id);
  void give_up(std::uint64_t id);
  void forget(std::uint64_t id);

  /// How far a call is.
  caf::typed_response_promise<CallStatus> status(std::uint64_t call);

  // --- the worker

  void start();
  void on_down(const caf::down_msg& down);
  [[nodiscard]] AttachTrainingClient attachment() const;
  void end(Error reason);
  void tell(bool running, std::string reason, std::string new_name = {}) const;

  // --- what it tells

  caf::result<Done> note(std::uint64_t request, const NumberedTurn& turn);
  void write_through(const Owed<Done>& answer, std::uint64_t id, const NumberedTurn& turn);
  void on_accepted(std::int64_t seq_id, const FutureRef& future);
  void on_settled(std::uint64_t request, std::int64_t next);
  void on_computed(std::uint64_t request, const LinearLossOutcome& outcome);

  /// Forgets numbers that were given back.
  void free_numbers(std::int64_t first);
  [[nodiscard]] Operation* find(std::uint64_t request);

  SelfPointer self;
  ClientContext context;
  ModelOrigin origin;

  /// Gets the notes too; may be invalid.
  LedgerActor ledger;

  RestartPolicy policy;
  RestartCounter counter;

  /// Invalid between a breakage and the restart.
  TrainingWorkerActor worker;

  /// Empty until the model is there.
  std::string model_id;
  std::int64_t next_seq_id = 1;

  /// What it is an adapter of; empty if that is not known.
  std::string base_model;

  /// Turns that an earlier client has left and that nobody has asked for yet.
  std::deque<NumberedTurn> left;

  /// In the order in which they were asked for.
  std::map<std::uint64_t, Operation> operations;
  std::map<std::uint64_t, std::uint64_t> by_request;
  std::map<std::int64_t, std::uint64_t> by_number;
  OpenCalls<TrainingKeeperActor::stateful_base<TrainingKeeperState>> calls;

  /// Why nothing can be numbered any more.
  std::optional<Error> lost;

  static inline const char* name = "tinkaf.training-client";
};

/// A training client.
/// @param origin how to create the model, whose `model_seq_id` is taken already, or the model that
///   is to be gone on with
/// @param ledger notes the numbers of its operations; none but the client itself does if it is
///   invalid
TrainingKeeperActor::behavior_type training_client(TrainingKeeperState::SelfPointer self,
                                                   ClientContext context, ModelOrigin origin,
                                                   LedgerActor ledger, RestartPolicy policy);

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/http_actor.hpp"
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

  /// Builds the request once its number is known.
  std::function<Result<HttpCall>(std::int64_t seq_id, const operations::Target&)> encode;
};

/// One operation: its requests, and who wants their results.
struct SubmitTurn {
  std::vector<SubmitPart> parts;

  /// Whether the parts take numbers.
  bool numbered = true;

  /// Gets the results in the order of the parts, or the first failure; called exactly once unless
  /// the actor ends before.
  std::function<void(Result<std::vector<FutureValue>>)> done;
};

/// Submits the operations of one model one after the other, in the order of the calls of `add`, and
/// waits for their results side by side. Part of a training client, never blocks it.
///
/// Numbers are taken when a turn begins. They stay without gaps: what certainly never left gives
/// its number back, what the service refused has used it up, and where neither is certain the lane
/// ends: all later operations fail and say why. A batch in parts sends all parts but the first side
/// by side and the first one last, so that the service begins when it has them all.
class SubmitLane {
public:
  using Self = TrainingClientActor::base*;

  struct Settings {
    HttpActor http;
    PollerSupervisorActor pollers;
    operations::Target target;
    bool parallel_chunks = true;

    /// Change to JSON if the service refuses protobuf.
    bool may_fall_back = true;

    /// Called once when that has happened.
    std::function<void()> on_fall_back;
  };

  SubmitLane(Self self, Settings settings) : self_(self), settings_(std::move(settings)) {}

  /// Lets the turns begin, now that there is a model.
  void open(std::string model_id);

  /// Fails all turns, those to come as well.
  void close(Error reason);

  void add(SubmitTurn turn);

  [[nodiscard]] const operations::Target& target() const noexcept {
    return settings_.target;
  }

private:
  /// Results of a turn as they come in.
  struct Collector {
    std::vector<std::optional<FutureValue>> values;
    std::size_t missing = 0;
    std::function<void(Result<std::vector<FutureValue>>)> done;

    void finish(Result<std::vector<FutureValue>> result);
    void on_value(std::size_t part, FutureValue value);
  };

  /// The turn whose requests are on their way.
  struct Active {
    SubmitTurn turn;
    std::int64_t first_seq_id = 0;
    std::vector<HttpCall> calls;
    std::vector<std::optional<Error>> errors;
    std::vector<bool> accepted;
    std::deque<std::vector<std::size_t>> phases;
    std::size_t unanswered = 0;
    std::shared_ptr<Collector> collector;
  };

  void begin_next();
  [[nodiscard]] Result<std::vector<HttpCall>> encode(const SubmitTurn& turn) const;
  void next_phase();
  void send(std::size_t part, HttpCall call, bool as_json);
  void on_accepted(std::size_t part, const HttpResponse& response,
                   std::chrono::steady_clock::time_point sent, bool as_json);
  void on_refused(std::size_t part, Error error, bool as_json);
  [[nodiscard]] bool fall_back(std::size_t part, const Error& error, bool as_json);
  void answered();
  void end_turn();
  void settle_numbers();
  [[nodiscard]] Error explain_failure() const;
  void await_result(std::size_t part, FutureRef future,
                    std::chrono::steady_clock::duration roundtrip);

  Self self_;
  Settings settings_;
  std::deque<SubmitTurn> waiting_;
  std::optional<Active> active_;
  std::optional<Error> closed_;
  bool open_ = false;
  bool protobuf_confirmed_ = false;
  std::int64_t next_seq_id_ = 1;
};

} // namespace tinkaf

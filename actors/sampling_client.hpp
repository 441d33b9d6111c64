// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/client_context.hpp"
#include "actors/http_actor.hpp"
#include "actors/open_calls.hpp"
#include "actors/owed.hpp"
#include "messages/interfaces.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

/// What the keeper of a sampling client is told by its worker.
using SamplingNotesActor = caf::typed_actor<
    // The sampling session has this id.
    Handles<void(atom::opened, std::string)>,
    // The first number that was never used.
    Handles<void(atom::next, std::int64_t)>,
    // The result of the sample that was asked for by the request of this id has this name, or
    // with an empty one none any more.
    Handles<void(atom::accepted, std::uint64_t, FutureRef)>>;

/// Where a worker begins.
struct SamplingStart {
  std::int64_t next_seq_id = 0;

  /// Names of the results of the samples that it is asked for first, in their order; absent for
  /// those that are to be drawn.
  std::deque<std::optional<FutureRef>> known;
};

/// One life of a sampling client. The samples of one sampling session, from the call to its answer:
/// check, wait for room, pass the gate, submit, await the result; again from the gate if the
/// service lost it.
struct SamplingClientState {
  using SelfPointer = SamplingClientActor::stateful_pointer<SamplingClientState>;
  using Done = std::function<void(Result<SampleResponse>)>;

  struct Sample {
    SampleRequest request;

    /// Gets the answer exactly once, unless the actor ends before.
    Done done;

    /// Size in bytes as the gate counts it.
    std::int64_t bytes = 0;

    /// The id of the request for it.
    std::uint64_t asked = 0;

    /// Counts towards the service's limit and is submitted again when lost.
    bool guarded = true;

    bool running = false;

    /// Times it was lost.
    std::uint32_t losses = 0;

    /// Leave to submit, while it is being submitted.
    std::optional<std::uint64_t> grant;

    /// The submission under way: a refusal repeats it as it is.
    std::optional<HttpCall> call;
  };

  explicit SamplingClientState(SelfPointer ptr) : self(ptr), calls(ptr, true) {}

  caf::typed_response_promise<std::string> open();
  caf::typed_response_promise<std::string> get_base_model();

  /// Checks and queues a sample; the promise says whose call it is.
  void sample(SampleRequest request, bool guarded, const caf::response_promise& call, Done done);

  /// Lets a sample wait for room once it is known to fit into the model's context.
  void admit(std::uint64_t id);

  /// Asks what the base model is, to know how many tokens it takes; then admits what waits for
  /// that.
  void ask_limit();
  void on_base_model(const std::optional<std::string>& base_model);

  void run_waiting();
  void run(std::uint64_t id);
  void begin_run(Sample& sample);
  void ask_gate(std::uint64_t id);
  void submit(std::uint64_t id, std::uint64_t grant);
  void post(std::uint64_t id);
  void on_refusal(std::uint64_t id, Error error);
  void await_result(std::uint64_t id, const HttpResponse& response);
  void await_future(std::uint64_t id, FutureRef future,
                    std::optional<std::chrono::microseconds> roundtrip);
  void on_loss(std::uint64_t id, Error error);
  void finish(std::uint64_t id, Result<SampleResponse> result);
  void give_up(std::uint64_t id);
  void leave_gate(Sample& sample);

  /// The gate has ended with what it had lent.
  void on_lost_grant(std::uint64_t id, const caf::error& error);
  void tell_id() const;

  /// Fails what runs without anything ever ending.
  void look_for_progress();

  [[nodiscard]] Sample* find(std::uint64_t id);

  SelfPointer self;
  ClientContext context;
  CreateSamplingClient spec;
  std::int64_t number = 0;
  std::string sampling_session_id;
  std::int64_t next_seq_id = 0;
  std::deque<std::optional<FutureRef>> known;

  /// Told of what a next worker would need; may be invalid.
  SamplingNotesActor notes;

  /// By the number of their call.
  std::map<std::uint64_t, Sample> samples;
  std::deque<std::uint64_t> waiting;

  /// Samples that may be too long for the model: how many tokens that takes is being asked for.
  std::vector<std::uint64_t> unsure;

  /// How many tokens the model takes, if the service tells; absent until it is looked up.
  std::optional<std::optional<std::int64_t>> limit;
  OpenCalls<SamplingClientActor::stateful_base<SamplingClientState>> calls;

  /// Guarded samples that run.
  std::int64_t running = 0;
  std::chrono::steady_clock::time_point last_progress;
  bool looking = false;

  static inline const char* name = "tinkaf.sampling-worker";
};

/// @param number of the sampling session within its session
/// @param start where an earlier worker has ended
SamplingClientActor::behavior_type sampling_worker(SamplingClientState::SelfPointer self,
                                                   ClientContext context, CreateSamplingClient spec,
                                                   std::int64_t number, SamplingStart start,
                                                   SamplingNotesActor notes);

} // namespace tinkaf

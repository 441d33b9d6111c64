// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/client_context.hpp"
#include "actors/owed.hpp"
#include "messages/interfaces.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace tinkaf {

struct SamplingClientState {
  using SelfPointer = SamplingClientActor::stateful_pointer<SamplingClientState>;

  /// A sample under way. Shared by the steps of its life.
  struct Sample {
    SampleRequest request;

    /// Gets the answer exactly once, unless the actor ends before.
    std::function<void(Result<SampleResponse>)> done;

    /// Submissions, the first one included.
    std::uint32_t submissions = 0;
  };
  using SamplePointer = std::shared_ptr<Sample>;

  explicit SamplingClientState(SelfPointer ptr) : self(ptr) {}

  caf::typed_response_promise<std::string> open();

  /// Checks and queues a sample.
  void sample(SampleRequest request, std::function<void(Result<SampleResponse>)> done);
  void submit_waiting();
  void submit(const SamplePointer& sample);
  void await_result(const SamplePointer& sample, const HttpResponse& response);
  void on_error(const SamplePointer& sample, Error error);
  void finish(const SamplePointer& sample, Result<SampleResponse> result);

  SelfPointer self;
  ClientContext context;
  CreateSamplingClient spec;
  std::int64_t number = 0;
  std::string sampling_session_id;
  std::int64_t next_seq_id = 0;
  std::int64_t under_way = 0;
  std::deque<SamplePointer> waiting;

  static inline const char* name = "tinkaf.sampling-client";
};

/// @param number of the sampling session within its session
SamplingClientActor::behavior_type sampling_client(SamplingClientState::SelfPointer self,
                                                   ClientContext context, CreateSamplingClient spec,
                                                   std::int64_t number);

} // namespace tinkaf

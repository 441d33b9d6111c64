// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/client_context.hpp"
#include "actors/custom_losses.hpp"
#include "actors/open_calls.hpp"
#include "actors/owed.hpp"
#include "actors/submit_lane.hpp"
#include "actors/training_notes.hpp"
#include "messages/interfaces.hpp"
#include "messages/requests.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tinkaf {

/// Where a training client's model comes from.
using ModelOrigin = std::variant<CreateModelRequest, LoadWeightsRequest, AttachTrainingClient>;

/// What that model is an adapter of; empty if the origin does not say.
[[nodiscard]] std::string base_model_of(const ModelOrigin& origin);

/// One life of a training client: what it is asked for, carried out.
struct TrainingClientState {
  using SelfPointer = TrainingWorkerActor::stateful_pointer<TrainingClientState>;

  /// How a call goes by: for `PollJob::call`, and for notes.
  struct Call {
    std::uint64_t number = 0;
    std::uint64_t asked = 0;
  };

  explicit TrainingClientState(SelfPointer ptr) : self(ptr), calls(ptr, false) {}

  caf::typed_response_promise<std::string> open();

  /// Asks what a checkpoint was made of, to create such a model and load the checkpoint into it.
  void ask_weights_info(const Owed<std::string>& answer, const LoadWeightsRequest& from);
  void create_model(const Owed<std::string>& answer);
  void await_model(const Owed<std::string>& answer, const HttpResponse& response);
  void on_model(const Owed<std::string>& answer, const FutureValue& value);
  void on_no_model(const Owed<std::string>& answer, const caf::error& error);

  /// Goes on once it is known what the model is an adapter of, or that the service does not tell;
  /// asks only if the service tells lengths.
  void learn_base_model(std::function<void()> go_on);

  /// Notes what the service has said.
  void know_base_model(std::string told);

  caf::typed_response_promise<ForwardBackwardOutput> training_pass(ForwardBackwardInput input,
                                                                   bool forward_only);
  caf::typed_response_promise<ForwardBackwardOutput> custom_loss(Batch data, CustomLossFn loss);

  /// Checks that a batch fits into the model's context, if the service tells how long that is.
  [[nodiscard]] Result<void> check_context(const Batch& data) const;
  caf::typed_response_promise<OptimStepResponse> optim_step(const AdamParams& params);
  caf::typed_response_promise<SaveWeightsResponse> save_state(std::string name,
                                                              SaveWeightsOptions options);
  caf::typed_response_promise<LoadWeightsResponse> load_state(std::string path,
                                                              bool with_optimizer);
  /// Answers through `done`, once.
  void save_weights_for_sampler(operations::SamplerSave save,
                                std::function<void(Result<SaveWeightsForSamplerResponse>)> done,
                                Call call);

  template <class T>
  [[nodiscard]] Owed<T> owe_call(Call& call);

  caf::typed_response_promise<SamplingClientActor> save_weights_and_get_sampling_client();
  caf::typed_response_promise<ModelInfo> get_info();
  caf::typed_response_promise<UnloadModelResponse> unload();

  /// Queues an operation of one request whose result is a `T`; checks first that it can be built.
  template <class T>
  void submit(SubmitPart part, std::function<void(Result<T>)> done, Call call,
              bool numbered = true);

  SelfPointer self;
  ClientContext context;
  ModelOrigin origin;
  std::optional<SubmitLane> lane;
  std::optional<CustomLosses> custom_losses;

  OpenCalls<TrainingWorkerActor::stateful_base<TrainingClientState>> calls;

  /// What the new model is to load before anything else.
  std::optional<LoadWeightsRequest> load_first;

  /// What the model is an adapter of; empty if that is not known.
  std::string base_model;

  /// Told of what must outlive this life; may be invalid.
  TrainingNotesActor notes;

  static inline const char* name = "tinkaf.training-worker";
};

/// @param origin how to create the model, whose `model_seq_id` is taken already, or the model that
///   is to be gone on with
/// @param notes told of the numbers of its operations; nobody is if it is invalid
TrainingWorkerActor::behavior_type training_worker(TrainingClientState::SelfPointer self,
                                                   ClientContext context, ModelOrigin origin,
                                                   TrainingNotesActor notes);

} // namespace tinkaf

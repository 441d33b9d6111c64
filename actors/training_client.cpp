// SPDX-License-Identifier: Apache-2.0
#include "actors/training_client.hpp"

#include "actors/ask_again.hpp"
#include "actors/exceptions.hpp"
#include "api/batch_check.hpp"
#include "api/chunking.hpp"
#include "api/wire/json.hpp"

#include <utility>

namespace tinkaf {

using operations::Target;

namespace {

SubmitLane::Settings lane_settings(const ClientContext& context) {
  return {.http = context.http,
          .pollers = context.pollers,
          .session = context.session,
          .target = {.retry = context.retry,
                     .timeout = context.request_timeout,
                     .protobuf = context.wire_format != WireFormat::json,
                     .compress = context.config.proto_compress_fwdbwd},
          .notes = {},
          .attached = {},
          .budget = context.dispatch_budget,
          .parallel_chunks = context.config.parallel_fwdbwd_chunks,
          .may_fall_back = context.wire_format == WireFormat::automatic,
          .on_fall_back = {}};
}

/// Gives the result to whoever asked.
template <class T>
std::function<void(Result<T>)> settle(const Owed<T>& answer) {
  return [answer](Result<T> result) { answer.settle(std::move(result)); };
}

} // namespace

template <class T>
Owed<T> TrainingClientState::owe_call(Call& call) {
  auto answer = calls.owe<T>(context.pollers, call.number);
  call.asked = request_id(answer);
  return answer;
}

template <class T>
void TrainingClientState::submit(SubmitPart part, std::function<void(Result<T>)> done, Call call,
                                 bool numbered) {
  // What cannot be built is told at once, not when its turn comes.
  auto on_trial = NumberedRequest{.type = part.type, .accepted = {}, .sampling_session_seq_id = {}};
  if (part.for_sampler)
    on_trial.sampling_session_seq_id = 0;
  if (auto trial = part.encode(on_trial, lane->target()); !trial)
    return done(fail(std::move(trial.error())));
  auto finish = [done = std::move(done)](Result<std::vector<FutureValue>> results) {
    if (!results)
      return done(fail(std::move(results.error())));
    if (auto* value = std::get_if<T>(&results->front()))
      return done(std::move(*value));
    done(fail(Errc::protocol_error, "the result is that of another operation"));
  };
  lane->add({.parts = {std::move(part)},
             .numbered = numbered,
             .done = std::move(finish),
             .call = call.number,
             .asked = call.asked});
}

caf::typed_response_promise<ForwardBackwardOutput>
TrainingClientState::training_pass(ForwardBackwardInput input, bool forward_only) {
  Call call;
  auto answer = owe_call<ForwardBackwardOutput>(call);
  auto checked = check_batch(input);
  if (checked)
    checked = check_context(input.data);
  if (!checked) {
    answer.fail(std::move(checked.error()));
    return answer.promise();
  }
  auto type = forward_only ? RequestType::forward : RequestType::forward_backward;
  auto send
      = forward_only ? operations::send_forward_request : operations::send_forward_backward_request;
  auto shared = std::make_shared<const ForwardBackwardInput>(std::move(input));
  SubmitTurn turn;
  turn.call = call.number;
  turn.asked = call.asked;
  for (const auto& chunk : plan_chunks(*shared->data, ChunkLimits::from(context.config))) {
    auto slice = BatchSlice{shared->data, chunk.first, chunk.last};
    turn.parts.push_back(
        {.type = type,
         .encode = [shared, slice, send](const NumberedRequest& number, const Target& target)
             -> Result<HttpCall> { return send(slice, *shared, number.seq_id, target); },
         .bytes = chunk.bytes});
  }
  turn.done = [answer](Result<std::vector<FutureValue>> results) {
    if (results)
      answer.settle(operations::combine_outputs(std::move(*results)));
    else
      answer.fail(std::move(results.error()));
  };
  lane->add(std::move(turn));
  return answer.promise();
}

caf::typed_response_promise<ForwardBackwardOutput>
TrainingClientState::custom_loss(Batch data, CustomLossFn loss) {
  auto answer = owe<ForwardBackwardOutput>(self);
  if (auto checked = check_context(data); !checked)
    answer.fail(std::move(checked.error()));
  else
    custom_losses->start(std::move(data), std::move(loss), answer, request_id(answer));
  return answer.promise();
}

Result<void> TrainingClientState::check_context(const Batch& data) const {
  const auto limit = context.context_limits.of(base_model);
  return data && limit ? check_lengths(data, *limit) : Result<void>{};
}

caf::typed_response_promise<OptimStepResponse>
TrainingClientState::optim_step(const AdamParams& params) {
  Call call;
  auto answer = owe_call<OptimStepResponse>(call);
  submit<OptimStepResponse>({RequestType::optim_step,
                             [params](const NumberedRequest& number, const Target& target) {
                               return operations::send_optim_step_request(params, number.seq_id,
                                                                          target);
                             }},
                            settle(answer), call);
  return answer.promise();
}

caf::typed_response_promise<SaveWeightsResponse>
TrainingClientState::save_state(std::string checkpoint, SaveWeightsOptions options) {
  Call call;
  auto answer = owe_call<SaveWeightsResponse>(call);
  submit<SaveWeightsResponse>({RequestType::save_weights,
                               [checkpoint = std::move(checkpoint),
                                options](const NumberedRequest& number, const Target& target) {
                                 return operations::send_save_state_request(checkpoint, options,
                                                                            number.seq_id, target);
                               }},
                              settle(answer), call);
  return answer.promise();
}

caf::typed_response_promise<LoadWeightsResponse>
TrainingClientState::load_state(std::string path, bool with_optimizer) {
  Call call;
  auto answer = owe_call<LoadWeightsResponse>(call);
  submit<LoadWeightsResponse>({RequestType::load_weights,
                               [path = std::move(path), with_optimizer](
                                   const NumberedRequest& number, const Target& target) {
                                 return operations::send_load_state_request(
                                     path, with_optimizer, {}, number.seq_id, target);
                               }},
                              settle(answer), call);
  return answer.promise();
}

void TrainingClientState::save_weights_for_sampler(
    operations::SamplerSave save, std::function<void(Result<SaveWeightsForSamplerResponse>)> done,
    Call call) {
  auto for_sampler = save.needs_number();
  submit<SaveWeightsForSamplerResponse>(
      {.type = RequestType::save_weights_for_sampler,
       .encode =
           [save = std::move(save)](const NumberedRequest& number, const Target& target) {
             auto drawn = number.sampling_session_seq_id.value_or(0);
             return operations::send_save_weights_for_sampler_request(
                 operations::normalize_save_weights_opts(save, drawn), number.seq_id, target);
           },
       .for_sampler = for_sampler},
      std::move(done), call);
}

caf::typed_response_promise<SamplingClientActor>
TrainingClientState::save_weights_and_get_sampling_client() {
  Call call;
  auto answer = owe_call<SamplingClientActor>(call);
  save_weights_for_sampler(
      {},
      [this, answer](Result<SaveWeightsForSamplerResponse> saved) {
        if (!saved)
          return answer.fail(std::move(saved.error()));
        auto spec = operations::start_sampling_client_from_save(*saved);
        if (!spec)
          return answer.fail(std::move(spec.error()));
        self->request(context.session, caf::infinite, std::move(*spec))
            .then([answer](const SamplingClientActor& client) { answer.deliver(client); },
                  [answer](const caf::error& error) { answer.fail(from_caf(error)); });
      },
      call);
  return answer.promise();
}

caf::typed_response_promise<ModelInfo> TrainingClientState::get_info() {
  auto answer = owe<ModelInfo>(self);
  if (lane->target().model_id.empty()) {
    answer.fail({Errc::invalid_argument, "the model is not there yet: open the client first"});
    return answer.promise();
  }
  ask_supervised(
      self, context.http,
      [answer](const HttpResponse& response) {
        answer.settle(wire::from_json<ModelInfo>(response.body));
      },
      [answer](const caf::error& error) { answer.fail(from_caf(error)); },
      operations::get_info_request(lane->target()));
  return answer.promise();
}

caf::typed_response_promise<UnloadModelResponse> TrainingClientState::unload() {
  Call call;
  auto answer = owe_call<UnloadModelResponse>(call);
  submit<UnloadModelResponse>(
      {RequestType::unload_model,
       [](const NumberedRequest&, const Target& target) -> Result<HttpCall> {
         return operations::unload_model_request(target);
       }},
      settle(answer), call, false);
  return answer.promise();
}

TrainingWorkerActor::behavior_type training_worker(TrainingClientState::SelfPointer self,
                                                   ClientContext context, ModelOrigin origin,
                                                   TrainingNotesActor notes) {
  end_on_exception(self);
  auto& state = self->state;
  auto settings = lane_settings(context);
  settings.on_fall_back
      = [self, session = context.session] { self->send(session, atom::json_only_v); };
  settings.notes = notes;
  state.notes = notes;
  state.base_model = base_model_of(origin);
  if (auto* attached = std::get_if<AttachTrainingClient>(&origin))
    settings.attached = std::move(*attached);
  state.lane.emplace(self, std::move(settings));
  state.custom_losses.emplace(self, *state.lane, context.loss_threads,
                              ChunkLimits::from(context.config), std::move(notes));
  state.context = std::move(context);
  state.origin = std::move(origin);
  return {
      [self](atom::open) { return self->state.open(); },
      [self](atom::forward_backward, ForwardBackwardInput& input) {
        return self->state.training_pass(std::move(input), false);
      },
      [self](atom::forward, ForwardBackwardInput& input) {
        return self->state.training_pass(std::move(input), true);
      },
      [self](atom::custom_loss, Batch& data, CustomLossFn& loss) {
        return self->state.custom_loss(std::move(data), std::move(loss));
      },
      [self](atom::custom_loss, const LinearLossOutcome& computed) {
        auto answer = owe<ForwardBackwardOutput>(self);
        self->state.custom_losses->go_on(**computed, answer, request_id(answer));
        return answer.promise();
      },
      [self](const AdamParams& params) { return self->state.optim_step(params); },
      [self](atom::save_state, std::string& checkpoint, const SaveWeightsOptions& options) {
        return self->state.save_state(std::move(checkpoint), options);
      },
      [self](atom::load_state, std::string& path, bool with_optimizer) {
        return self->state.load_state(std::move(path), with_optimizer);
      },
      [self](atom::save_for_sampler, std::string& checkpoint, const SaveWeightsOptions& options) {
        auto& client = self->state;
        TrainingClientState::Call call;
        auto answer = client.owe_call<SaveWeightsForSamplerResponse>(call);
        client.save_weights_for_sampler({.path = std::move(checkpoint), .options = options},
                                        settle(answer), call);
        return answer.promise();
      },
      [self](atom::save_for_sampler) {
        auto& client = self->state;
        TrainingClientState::Call call;
        auto answer = client.owe_call<SaveWeightsForSamplerResponse>(call);
        client.save_weights_for_sampler({}, settle(answer), call);
        return answer.promise();
      },
      [self](atom::get_sampler) { return self->state.save_weights_and_get_sampling_client(); },
      [self](atom::get_info) { return self->state.get_info(); },
      [self](atom::unload) { return self->state.unload(); },
      [self](atom::cancel, std::uint64_t call) {
        self->state.calls.cancel(self->current_sender(), call);
        self->state.custom_losses->cancel(call);
      },
      [self](atom::status, std::uint64_t call) {
        auto& client = self->state;
        auto asker = self->current_sender(); // the promise takes it away
        return client.calls.status(client.context.pollers, asker, call);
      },
      [self](atom::computed, std::uint64_t id, const LinearLossOutcome& outcome) {
        self->state.custom_losses->on_computed(id, outcome);
      },
  };
}

} // namespace tinkaf

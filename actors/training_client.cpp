// SPDX-License-Identifier: Apache-2.0
#include "actors/training_client.hpp"

#include "actors/weights_info.hpp"
#include "api/chunking.hpp"
#include "api/wire/json.hpp"

#include <utility>

namespace tinkaf {

using operations::Target;

namespace {

/// The name that the service gives to the model of that number.
std::string model_id_of(const LoadWeightsRequest& request) {
  return request.session_id.value_or("")
         + ":train:" + std::to_string(request.model_seq_id.value_or(0));
}

SubmitLane::Settings lane_settings(const ClientContext& context) {
  return {.http = context.http,
          .pollers = context.pollers,
          .target = {.retry = context.retry,
                     .timeout = context.request_timeout,
                     .protobuf = context.wire_format != WireFormat::json,
                     .compress = context.config.proto_compress_fwdbwd},
          .parallel_chunks = context.config.parallel_fwdbwd_chunks,
          .may_fall_back = context.wire_format == WireFormat::automatic};
}

} // namespace

caf::typed_response_promise<std::string> TrainingClientState::open() {
  auto answer = owe<std::string>(self);
  if (!lane->target().model_id.empty()) {
    answer.deliver(lane->target().model_id);
    return answer.promise();
  }
  const auto* checkpoint = std::get_if<LoadWeightsRequest>(&origin);
  if (checkpoint != nullptr && !context.config.create_model_via_load_weights)
    ask_weights_info(answer, *checkpoint);
  else
    create_model(answer);
  return answer.promise();
}

void TrainingClientState::ask_weights_info(const Owed<std::string>& answer,
                                           const LoadWeightsRequest& from) {
  auto call = operations::weights_info_request(from.path, lane->target());
  self->request(context.http, caf::infinite, std::move(call))
      .then(
          [this, answer, from](const HttpResponse& response) {
            auto info = read_weights_info(response.body);
            if (!info)
              return on_no_model(answer, to_caf(std::move(info.error())));
            load_first = from;
            origin = CreateModelRequest{context.session_id, from.model_seq_id.value_or(0),
                                        info->base_model, from.user_metadata, info->lora_config};
            create_model(answer);
          },
          [this, answer](const caf::error& error) {
            // Not every service has this call; those without create a model by loading.
            if (from_caf(error).http_status == 404)
              create_model(answer);
            else
              on_no_model(answer, error);
          });
}

void TrainingClientState::create_model(const Owed<std::string>& answer) {
  auto call = std::visit(
      [this](const auto& x) { return operations::ensure_model(x, lane->target()); }, origin);
  self->request(context.http, caf::infinite, std::move(call))
      .then([this, answer](const HttpResponse& response) { await_model(answer, response); },
            [this, answer](const caf::error& error) { on_no_model(answer, error); });
}

void TrainingClientState::await_model(const Owed<std::string>& answer,
                                      const HttpResponse& response) {
  auto future = wire::from_json<FutureRef>(response.body);
  if (!future)
    return on_no_model(answer, to_caf(std::move(future.error())));
  auto type = std::holds_alternative<CreateModelRequest>(origin) ? RequestType::create_model
                                                                 : RequestType::load_weights;
  self->request(context.pollers, caf::infinite,
                PollJob{std::move(*future), type, self->clock().now(), {}})
      .then([this, answer](const FutureValue& value) { on_model(answer, value); },
            [this, answer](const caf::error& error) { on_no_model(answer, error); });
}

void TrainingClientState::on_model(const Owed<std::string>& answer, const FutureValue& value) {
  std::string model_id;
  if (const auto* created = std::get_if<CreateModelResponse>(&value))
    model_id = created->model_id;
  else if (const auto* loaded = std::get_if<LoadWeightsResponse>(&value))
    model_id = loaded->model_id.empty() ? model_id_of(std::get<LoadWeightsRequest>(origin))
                                        : loaded->model_id;
  if (!load_first) {
    lane->open(model_id);
    return answer.deliver(std::move(model_id));
  }
  auto load = [from = *load_first](std::int64_t seq_id, const Target& target) -> Result<HttpCall> {
    return operations::send_load_state_request(from.path, from.optimizer, seq_id, target);
  };
  auto done = [this, answer, model_id](Result<std::vector<FutureValue>> loaded) {
    if (loaded)
      answer.deliver(model_id);
    else
      on_no_model(answer, to_caf(std::move(loaded.error())));
  };
  lane->add({.parts = {{RequestType::load_weights, load}}, .done = done});
  lane->open(model_id);
}

void TrainingClientState::on_no_model(const Owed<std::string>& answer, const caf::error& error) {
  auto reason = from_caf(error);
  lane->close(reason);
  answer.fail(std::move(reason));
}

template <class T>
void TrainingClientState::submit(const Owed<T>& answer, RequestType type,
                                 decltype(SubmitPart::encode) encode, bool numbered) {
  auto done = [answer](Result<std::vector<FutureValue>> results) {
    if (!results)
      return answer.fail(std::move(results.error()));
    if (auto* value = std::get_if<T>(&results->front()))
      return answer.deliver(std::move(*value));
    answer.fail({Errc::protocol_error, "the result is that of another operation"});
  };
  lane->add({.parts = {{type, std::move(encode)}}, .numbered = numbered, .done = std::move(done)});
}

caf::typed_response_promise<ForwardBackwardOutput>
TrainingClientState::training_pass(ForwardBackwardInput input, bool forward_only) {
  auto answer = owe<ForwardBackwardOutput>(self);
  if (auto checked = operations::check_batch(input); !checked) {
    answer.fail(std::move(checked.error()));
    return answer.promise();
  }
  auto type = forward_only ? RequestType::forward : RequestType::forward_backward;
  auto shared = std::make_shared<const ForwardBackwardInput>(std::move(input));
  SubmitTurn turn;
  for (const auto& chunk : plan_chunks(*shared->data, ChunkLimits::from(context.config))) {
    auto slice = BatchSlice{shared->data, chunk.first, chunk.last};
    turn.parts.push_back(
        {type, [shared, slice, forward_only](std::int64_t seq_id, const Target& target) {
           return operations::send_forward_backward_request(slice, *shared, forward_only, seq_id,
                                                            target);
         }});
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

caf::typed_response_promise<OptimStepResponse>
TrainingClientState::optim_step(const AdamParams& params) {
  auto answer = owe<OptimStepResponse>(self);
  if (auto checked = validate(params); !checked)
    answer.fail(std::move(checked.error()));
  else
    submit(answer, RequestType::optim_step, [params](std::int64_t seq_id, const Target& target) {
      return operations::send_optim_step_request(params, seq_id, target);
    });
  return answer.promise();
}

caf::typed_response_promise<SaveWeightsResponse>
TrainingClientState::save_state(std::string checkpoint, SaveWeightsOptions options) {
  auto answer = owe<SaveWeightsResponse>(self);
  submit(answer, RequestType::save_weights,
         [checkpoint = std::move(checkpoint), options](std::int64_t seq_id, const Target& target) {
           return operations::send_save_state_request(checkpoint, options, seq_id, target);
         });
  return answer.promise();
}

caf::typed_response_promise<LoadWeightsResponse>
TrainingClientState::load_state(std::string path, bool with_optimizer) {
  auto answer = owe<LoadWeightsResponse>(self);
  submit(answer, RequestType::load_weights,
         [path = std::move(path), with_optimizer](std::int64_t seq_id, const Target& target) {
           return operations::send_load_state_request(path, with_optimizer, seq_id, target);
         });
  return answer.promise();
}

caf::typed_response_promise<SaveWeightsForSamplerResponse>
TrainingClientState::save_weights_for_sampler(std::string checkpoint, SaveWeightsOptions options) {
  auto answer = owe<SaveWeightsForSamplerResponse>(self);
  submit(answer, RequestType::save_weights_for_sampler,
         [checkpoint = std::move(checkpoint), options](std::int64_t seq_id, const Target& target) {
           return operations::send_save_weights_for_sampler_request(checkpoint, {}, options, seq_id,
                                                                    target);
         });
  return answer.promise();
}

caf::typed_response_promise<SaveWeightsForSamplerResponse>
TrainingClientState::save_for_sampling_session() {
  auto answer = owe<SaveWeightsForSamplerResponse>(self);
  // The operation takes its place now; the number of the sampling session is there before its turn
  // or the turn waits for it.
  self->request(context.session, caf::infinite, atom::sampler_number_v)
      .await(
          [this, answer](std::int64_t number) {
            submit(answer, RequestType::save_weights_for_sampler,
                   [number](std::int64_t seq_id, const Target& target) {
                     return operations::send_save_weights_for_sampler_request({}, number, {},
                                                                              seq_id, target);
                   });
          },
          [answer](const caf::error& error) { answer.fail(from_caf(error)); });
  return answer.promise();
}

caf::typed_response_promise<ModelInfo> TrainingClientState::get_info() {
  auto answer = owe<ModelInfo>(self);
  if (lane->target().model_id.empty()) {
    answer.fail({Errc::invalid_argument, "the model is not there yet: open the client first"});
    return answer.promise();
  }
  self->request(context.http, caf::infinite, operations::get_info_request(lane->target()))
      .then(
          [answer](const HttpResponse& response) {
            answer.settle(wire::from_json<ModelInfo>(response.body));
          },
          [answer](const caf::error& error) { answer.fail(from_caf(error)); });
  return answer.promise();
}

caf::typed_response_promise<UnloadModelResponse> TrainingClientState::unload() {
  auto answer = owe<UnloadModelResponse>(self);
  submit(
      answer, RequestType::unload_model,
      [](std::int64_t, const Target& target) -> Result<HttpCall> {
        return operations::unload_model_request(target);
      },
      false);
  return answer.promise();
}

TrainingClientActor::behavior_type training_client(TrainingClientState::SelfPointer self,
                                                   ClientContext context, ModelOrigin origin) {
  auto& state = self->state;
  auto settings = lane_settings(context);
  settings.on_fall_back
      = [self, session = context.session] { self->send(session, atom::json_only_v); };
  state.lane.emplace(self, std::move(settings));
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
      [self](const AdamParams& params) { return self->state.optim_step(params); },
      [self](atom::save_state, std::string& checkpoint, const SaveWeightsOptions& options) {
        return self->state.save_state(std::move(checkpoint), options);
      },
      [self](atom::load_state, std::string& path, bool with_optimizer) {
        return self->state.load_state(std::move(path), with_optimizer);
      },
      [self](atom::save_for_sampler, std::string& checkpoint, const SaveWeightsOptions& options) {
        return self->state.save_weights_for_sampler(std::move(checkpoint), options);
      },
      [self](atom::save_for_sampler) { return self->state.save_for_sampling_session(); },
      [self](atom::get_info) { return self->state.get_info(); },
      [self](atom::unload) { return self->state.unload(); },
  };
}

} // namespace tinkaf

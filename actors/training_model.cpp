// SPDX-License-Identifier: Apache-2.0
#include "actors/ask_again.hpp"
#include "actors/training_client.hpp"
#include "actors/weights_info.hpp"
#include "api/wire/json.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

// How a training client comes to its model.

namespace tinkaf {

namespace {

/// The name that the service gives to the model of that number.
std::string model_id_of(const LoadWeightsRequest& request) {
  return request.session_id.value_or("")
         + ":train:" + std::to_string(request.model_seq_id.value_or(0));
}

/// Time to tell what a model is: who does not answer by then has lengths unchecked.
constexpr std::chrono::milliseconds info_timeout{10'000};

} // namespace

std::string base_model_of(const ModelOrigin& origin) {
  if (const auto* created = std::get_if<CreateModelRequest>(&origin))
    return created->base_model;
  if (const auto* loaded = std::get_if<LoadWeightsRequest>(&origin))
    return loaded->base_model.value_or("");
  return std::get<AttachTrainingClient>(origin).base_model;
}

void TrainingClientState::learn_base_model(std::function<void()> go_on) {
  if (!base_model.empty() || !context.context_limits.least())
    return go_on();
  auto request = operations::get_info_request(lane->target()).request;
  request.timeout = std::min(request.timeout, info_timeout);
  ask_supervised(
      self, context.http,
      [this, go_on](const HttpResponse& response) {
        if (response.status >= 200 && response.status < 300)
          if (auto info = wire::from_json<ModelInfo>(response.body))
            know_base_model(std::move(info->model_name));
        go_on();
      },
      [go_on](const caf::error&) { go_on(); }, std::move(request));
}

void TrainingClientState::know_base_model(std::string told) {
  base_model = std::move(told);
  if (notes)
    self->send(notes, atom::get_base_model_v, base_model);
}

caf::typed_response_promise<std::string> TrainingClientState::open() {
  auto answer = owe<std::string>(self);
  if (const auto& model_id = lane->target().model_id; !model_id.empty()) {
    learn_base_model([answer, model_id] { answer.deliver(model_id); });
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
  auto call = operations::weights_info_request(from, lane->target());
  ask_supervised(
      self, context.http,
      [this, answer, from](const HttpResponse& response) {
        auto info = read_weights_info(response.body);
        if (!info)
          return on_no_model(answer, to_caf(std::move(info.error())));
        load_first = from;
        origin = CreateModelRequest{context.session_id, from.model_seq_id.value_or(0),
                                    from.base_model.value_or(info->base_model), from.user_metadata,
                                    info->lora_config};
        know_base_model(std::get<CreateModelRequest>(origin).base_model);
        create_model(answer);
      },
      [this, answer](const caf::error& error) {
        // Not every service has this call; those without create a model by loading.
        if (from_caf(error).http_status == 404)
          create_model(answer);
        else
          on_no_model(answer, error);
      },
      std::move(call));
}

void TrainingClientState::create_model(const Owed<std::string>& answer) {
  const auto* fresh = std::get_if<CreateModelRequest>(&origin);
  auto call = fresh != nullptr
                  ? operations::ensure_model(*fresh, lane->target())
                  : operations::ensure_model(std::get<LoadWeightsRequest>(origin), lane->target());
  if (!call)
    return on_no_model(answer, to_caf(std::move(call.error())));
  ask_supervised(
      self, context.http,
      [this, answer](const HttpResponse& response) { await_model(answer, response); },
      [this, answer](const caf::error& error) { on_no_model(answer, error); }, std::move(*call));
}

void TrainingClientState::await_model(const Owed<std::string>& answer,
                                      const HttpResponse& response) {
  auto type = std::holds_alternative<CreateModelRequest>(origin) ? RequestType::create_model
                                                                 : RequestType::load_weights;
  auto submitted = operations::read_submission(type, response);
  if (!submitted)
    return on_no_model(answer, to_caf(std::move(submitted.error())));
  if (const auto* value = std::get_if<FutureValue>(&*submitted))
    return on_model(answer, *value);
  ask_supervised(
      self, context.pollers, [this, answer](const FutureValue& value) { on_model(answer, value); },
      [this, answer](const caf::error& error) { on_no_model(answer, error); },
      PollJob{std::get<FutureRef>(std::move(*submitted)), type, self->clock().now(), {}});
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
    return learn_base_model([answer, model_id] { answer.deliver(model_id); });
  }
  auto load = [from = *load_first](const NumberedRequest& number,
                                   const operations::Target& target) -> Result<HttpCall> {
    return operations::send_load_state_request(from.path, from.optimizer, from.weights_access_token,
                                               number.seq_id, target);
  };
  auto done = [this, answer, model_id](Result<std::vector<FutureValue>> loaded) {
    if (loaded)
      answer.deliver(model_id);
    else
      on_no_model(answer, to_caf(std::move(loaded.error())));
  };
  lane->add(
      {.parts = {{RequestType::load_weights, load}}, .done = done, .asked = request_id(answer)});
  lane->open(model_id);
}

void TrainingClientState::on_no_model(const Owed<std::string>& answer, const caf::error& error) {
  auto reason = from_caf(error);
  lane->close(reason);
  answer.fail(std::move(reason));
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "actors/training_operations.hpp"
#include "api/metrics_merge.hpp"
#include "api/wire/json.hpp"
#include "api/wire/json_reader.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

// What an answer means.

namespace tinkaf::operations {

namespace {

/// Enough of an answer to recognise it by.
constexpr std::size_t shown_bytes = 200;

Error not_understood(RequestType type, std::string_view body, std::string_view wanted) {
  return {.code = Errc::protocol_error,
          .message
          = fmt::format("the answer to {} has neither `request_id` nor {}: {}{}", to_string(type),
                        wanted, body.substr(0, shown_bytes), body.size() > shown_bytes ? "…" : ""),
          .category = ErrorCategory::server};
}

/// The future of an answer, or else its own value if it has a member of `direct`.
Result<Submitted> read(RequestType type, const HttpResponse& response,
                       std::initializer_list<std::string_view> direct) {
  auto what = fmt::format("answer to {}", to_string(type));
  auto body = wire::parse_json(response.body, what, Errc::protocol_error);
  if (body && !body->IsObject())
    body = fail(Errc::protocol_error, what + ": the body must be an object");
  if (!body) {
    body.error().ambiguous = true;
    return fail(std::move(body.error()));
  }
  if (wire::find_member(*body, "request_id") != nullptr)
    return wire::from_json<FutureRef>(response.body).map([](FutureRef&& x) {
      return Submitted{std::move(x)};
    });
  for (auto name : direct)
    if (wire::find_member(*body, name) != nullptr)
      return wire::future_value_from_json(type, response.body).map([](FutureValue&& x) {
        return Submitted{std::move(x)};
      });
  if (direct.size() == 0)
    return fail(not_understood(type, response.body, "any other name of a result"));
  return fail(not_understood(type, response.body, fmt::format("`{}`", *direct.begin())));
}

} // namespace

Result<Submitted> handle_save_state_response(const HttpResponse& response) {
  return read(RequestType::save_weights, response, {"path"});
}

Result<Submitted> handle_load_state_response(const HttpResponse& response) {
  return read(RequestType::load_weights, response, {"path", "model_id"});
}

Result<Submitted> handle_save_weights_response(const HttpResponse& response) {
  return read(RequestType::save_weights_for_sampler, response, {"path", "sampling_session_id"});
}

Result<Submitted> read_submission(RequestType type, const HttpResponse& response) {
  switch (type) {
  case RequestType::save_weights:
    return handle_save_state_response(response);
  case RequestType::load_weights:
    return handle_load_state_response(response);
  case RequestType::save_weights_for_sampler:
    return handle_save_weights_response(response);
  case RequestType::create_model:
  case RequestType::unload_model:
    return read(type, response, {"model_id"});
  case RequestType::forward:
  case RequestType::forward_backward:
  case RequestType::optim_step:
  case RequestType::save_weights_external:
  case RequestType::sample:
    break;
  }
  return read(type, response, {});
}

Result<CreateSamplingClient>
start_sampling_client_from_save(const SaveWeightsForSamplerResponse& saved) {
  if (saved.sampling_session_id)
    return CreateSamplingClient{.sampling_session_id = saved.sampling_session_id};
  if (saved.path)
    return CreateSamplingClient{.model_path = saved.path};
  return fail(Errc::protocol_error, "the save to sample from has given neither `path` nor "
                                    "`sampling_session_id`");
}

Result<ForwardBackwardOutput> combine_outputs(std::vector<FutureValue> parts) {
  std::vector<ForwardBackwardOutput> outputs;
  outputs.reserve(parts.size());
  for (auto& part : parts) {
    auto* output = std::get_if<ForwardBackwardOutput>(&part);
    if (output == nullptr)
      return fail(Errc::protocol_error, "the result is not that of a training pass");
    outputs.push_back(std::move(*output));
  }
  return merge_outputs(std::move(outputs));
}

} // namespace tinkaf::operations

// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/json_rest.hpp"
#include "test/api/wire_examples.hpp"
#include "test/catch.hpp"

#include <fmt/format.h>

#include <functional>
#include <map>
#include <type_traits>

using namespace tinkaf;

namespace {

std::string text(std::string json) {
  return json;
}

std::string text(Result<std::string> json) {
  REQUIRE(json.has_value());
  return *json;
}

/// Reads the example and writes it again.
template <class T>
std::string round_trip(const std::string& json) {
  auto read = wire::from_json<T>(json);
  INFO((read ? "" : to_string(read.error())));
  REQUIRE(read.has_value());
  return text(wire::to_json(*read));
}

using RoundTrip = std::function<std::string(const std::string&)>;

// What reads each file both ways; the rest have tests of their own, named beside them.
const std::map<std::string, RoundTrip> round_trips{
    {"archive_url.response.json", round_trip<CheckpointArchiveUrlResponse>},
    {"asample.request.compute_logprobs.json", round_trip<AsampleRequest>},
    {"asample.request.json", round_trip<AsampleRequest>},
    {"asample.request.multimodal.json", round_trip<AsampleRequest>},
    {"assign_session_project.request.json", round_trip<AssignSessionProjectRequest>},
    {"audit.response.json", round_trip<AuditLogResponse>},
    {"billing_usage.response.json", round_trip<BillingUsageResponse>},
    {"auth_token.request.json", round_trip<wire::AuthTokenRequest>},
    {"auth_token.response.json", round_trip<wire::AuthTokenResponse>},
    {"client_config.request.json", round_trip<wire::ClientConfigRequest>},
    {"client_config.response.json", round_trip<ClientConfig>},
    {"client_dynamic_config.request.json", round_trip<wire::ClientConfigRequest>},
    {"client_dynamic_config.response.json", round_trip<DynamicConfig>},
    {"create_model.request.json", round_trip<CreateModelRequest>},
    {"create_sampling_session.request.base.json", round_trip<CreateSamplingSessionRequest>},
    {"create_sampling_session.request.path.json", round_trip<CreateSamplingSessionRequest>},
    {"create_sampling_session.response.json", round_trip<CreateSamplingSessionResponse>},
    {"create_session.request.json", round_trip<CreateSessionRequest>},
    {"create_session.request.minimal.json", round_trip<CreateSessionRequest>},
    {"create_session.response.json", round_trip<CreateSessionResponse>},
    {"future_result.create_model.json", round_trip<CreateModelResponse>},
    {"future_result.load_weights.json", round_trip<LoadWeightsResponse>},
    {"future_result.optim_step.json", round_trip<OptimStepResponse>},
    {"future_result.save_weights.json", round_trip<SaveWeightsResponse>},
    {"future_result.save_weights_for_sampler.ephemeral.json",
     round_trip<SaveWeightsForSamplerResponse>},
    {"future_result.save_weights_for_sampler.named.json",
     round_trip<SaveWeightsForSamplerResponse>},
    {"future_result.unload_model.json", round_trip<UnloadModelResponse>},
    {"get_info.request.json", round_trip<GetInfoRequest>},
    {"get_sampler.response.json", round_trip<GetSamplerResponse>},
    {"get_server_capabilities.response.json", round_trip<ServerCapabilities>},
    {"get_session.response.json", round_trip<GetSessionResponse>},
    {"get_training_run.response.json", round_trip<TrainingRun>},
    {"legacy.forward.request.json", round_trip<ForwardBackwardRequest>},
    {"legacy.forward_backward.request.json", round_trip<ForwardBackwardRequest>},
    {"legacy.forward_backward.result.json", round_trip<ForwardBackwardOutput>},
    {"legacy.sample.result.json", round_trip<SampleResponse>},
    {"list_run_checkpoints.response.json", round_trip<CheckpointsListResponse>},
    {"list_sessions.response.json", round_trip<ListSessionsResponse>},
    {"list_training_runs.response.json", round_trip<TrainingRunsResponse>},
    {"list_user_checkpoints.response.json", round_trip<CheckpointsListResponse>},
    {"load_weights.request.create_via_load.json", round_trip<LoadWeightsRequest>},
    {"load_weights.request.existing_model.json", round_trip<LoadWeightsRequest>},
    {"optim_step.request.json", round_trip<OptimStepRequest>},
    {"retrieve_future.request.json", round_trip<RetrieveFutureRequest>},
    {"save_weights.request.json", round_trip<SaveWeightsRequest>},
    {"save_weights_for_sampler.request.ephemeral.json", round_trip<SaveWeightsForSamplerRequest>},
    {"save_weights_for_sampler.request.named.json", round_trip<SaveWeightsForSamplerRequest>},
    {"session_heartbeat.request.json", round_trip<SessionHeartbeatRequest>},
    {"session_heartbeat.response.json", round_trip<wire::SessionHeartbeatResponse>},
    {"set_ttl.request.json", round_trip<CheckpointTtlRequest>},
    {"set_ttl.request.remove.json", round_trip<CheckpointTtlRequest>},
    {"telemetry.request.json", round_trip<TelemetrySendRequest>},
    {"telemetry.response.json", round_trip<wire::TelemetryResponse>},
    {"unload_model.request.json", round_trip<UnloadModelRequest>},
    {"untyped_future.response.json", round_trip<FutureRef>},
    {"untyped_future.response.minimal.json", round_trip<FutureRef>},
    {"weights_info.request.json", round_trip<WeightsInfoRequest>},
    {"weights_info.response.json", round_trip<WeightsInfoResponse>},
};

// Files that other tests of this program read.
const std::map<std::string, std::string> read_elsewhere{
    {"chunking.json", "chunking_test.cpp"},
    {"error.body.json", "error_body_test.cpp"},
    {"get_info.response.json", "below: the tokenizer's name is cut"},
    {"metrics-merge.json", "metrics_merge_test.cpp"},
    {"protobuf-vectors.json", "protobuf_test.cpp"},
    {"retrieve_future.states.json", "future_test.cpp"},
    {"trace_export.responses.json", "rest_json_test.cpp"},
};

// Calls that this layer has no type for.
const std::vector<std::string> not_ours{
    "healthz.response.json",
};

} // namespace

TEST_CASE("Bodies come out of reading and writing as they went in", "[api][json]") {
  for (const auto& [name, trip] : round_trips) {
    INFO(name);
    auto json = test::example(name);
    CHECK(test::canonical(trip(json)) == test::canonical(json));
  }
}

TEST_CASE("Every example of the wire has a place in the tests", "[api][json]") {
  for (const auto& name : test::example_names()) {
    INFO(name);
    auto known = round_trips.contains(name) || read_elsewhere.contains(name)
                 || std::find(not_ours.begin(), not_ours.end(), name) != not_ours.end();
    CHECK(known);
  }
}

TEST_CASE("Model information loses the revision of its tokenizer", "[api][json]") {
  auto info = wire::from_json<ModelInfo>(test::example("get_info.response.json"));
  REQUIRE(info.has_value());
  CHECK(info->model_name == "acme/tiny-1b");
  CHECK(info->arch == "decoder");
  CHECK(info->tokenizer_id == "acme/tiny-tok");
  CHECK(info->is_lora == true);
  CHECK(info->lora_rank == 8);
  CHECK(wire::from_json<ModelInfo>(wire::to_json(*info)) == info);
}

TEST_CASE("Results of futures are read by the type of their operation", "[api][json]") {
  for (auto [type, name] :
       {std::pair{RequestType::create_model, "create_model"},
        {RequestType::load_weights, "load_weights"},
        {RequestType::optim_step, "optim_step"},
        {RequestType::save_weights, "save_weights"},
        {RequestType::save_weights_for_sampler, "save_weights_for_sampler.named"},
        {RequestType::unload_model, "unload_model"}}) {
    auto json = test::example(fmt::format("future_result.{}.json", name));
    auto value = wire::future_value_from_json(type, json);
    REQUIRE(value.has_value());
    CHECK(test::canonical(text(wire::to_json(*value))) == test::canonical(json));
  }
}

TEST_CASE("A configuration that says nothing means the defaults", "[api][json]") {
  CHECK(wire::from_json<ClientConfig>("{}") == ClientConfig{});
  CHECK(wire::from_json<ClientConfig>(R"({"fwdbwd_max_chunk_len": null, "new_field": [1]})")
        == ClientConfig{});
}

TEST_CASE("A stop may be a text, texts or tokens", "[api][json]") {
  for (const auto& stop :
       {Stop{}, Stop{std::string{"\n"}}, Stop{std::vector<std::string>{"a", "b"}},
        Stop{std::vector<Token>{1, 2}}}) {
    AsampleRequest request;
    request.sample.sampling_params.stop = stop;
    CHECK(wire::from_json<AsampleRequest>(text(wire::to_json(request))) == request);
  }
}

TEST_CASE("Metadata of a request may be any JSON", "[api][json]") {
  auto request = wire::from_json<CreateSessionRequest>(
      R"({"tags":[],"sdk_version":"1","user_metadata":{"a":"x","b":3,"c":[true,null]}})");
  REQUIRE(request.has_value());
  CHECK(request->user_metadata == UserMetadata{{"a", "x"}, {"b", "3"}, {"c", "[true,null]"}});
}

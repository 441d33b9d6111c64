// SPDX-License-Identifier: Apache-2.0
#include "api/wire/compression.hpp"
#include "api/wire/error_body.hpp"
#include "api/wire/future.hpp"
#include "api/wire/json.hpp"
#include "api/wire/protobuf.hpp"
#include "test/api/wire_examples.hpp"
#include "test/catch.hpp"

#include <random>

using namespace tinkaf;

namespace {

constexpr int mutations_per_example = 60;

/// A damaged copy: bytes changed, cut out, doubled, or the end missing.
std::string mutate(std::string text, std::mt19937& random) {
  auto below = [&](std::size_t n) {
    return std::uniform_int_distribution<std::size_t>{0, n}(random);
  };
  auto damages = 1 + below(3);
  for (std::size_t i = 0; i < damages && !text.empty(); ++i) {
    auto at = below(text.size() - 1);
    switch (below(4)) {
    case 0:
      text[at] = static_cast<char>(below(255));
      break;
    case 1:
      text.erase(at, 1 + below(7));
      break;
    case 2:
      text.insert(at, text.substr(at, 1 + below(15)));
      break;
    case 3:
      text.resize(at);
      break;
    default:
      text[at] = "0123456789{}[]\",:-.en"[below(20)];
    }
  }
  return text;
}

template <class... Ts>
std::size_t read_as(const std::string& json) {
  return (std::size_t{wire::from_json<Ts>(json).has_value()} + ...);
}

/// Reads with everything there is; returns how many took it.
std::size_t read_with_all(const std::string& body) {
  auto taken
      = read_as<wire::ClientConfigRequest, ClientConfig, CreateSessionRequest,
                CreateSessionResponse, SessionHeartbeatRequest, wire::SessionHeartbeatResponse,
                CreateModelRequest, GetInfoRequest, ModelInfo, UnloadModelRequest,
                ServerCapabilities, ForwardBackwardRequest, OptimStepRequest, SaveWeightsRequest,
                LoadWeightsRequest, SaveWeightsForSamplerRequest, CreateSamplingSessionRequest,
                CreateSamplingSessionResponse, AsampleRequest, FutureRef, RetrieveFutureRequest,
                CreateModelResponse, ForwardBackwardOutput, OptimStepResponse, SaveWeightsResponse,
                LoadWeightsResponse, SaveWeightsForSamplerResponse, UnloadModelResponse,
                SampleResponse>(body);
  HttpResponse response{.status = 200, .body = body};
  for (auto type : {RequestType::optim_step, RequestType::sample, RequestType::forward_backward})
    taken += std::size_t{wire::read_future(type, response).has_value()};
  static_cast<void>(wire::read_pending(response));
  response.status = 422;
  CHECK_FALSE(wire::read_error("call", response).message.empty());
  return taken;
}

} // namespace

TEST_CASE("Damaged JSON is an error and never worse", "[api][fuzz]") {
  std::mt19937 random{20'260'304};
  std::size_t taken = 0;
  for (const auto& name : test::example_names()) {
    auto text = test::example(name);
    read_with_all(text);
    for (int i = 0; i < mutations_per_example; ++i)
      taken += read_with_all(mutate(text, random));
  }
  CHECK(taken > 0); // some damage leaves a body readable
}

TEST_CASE("Damaged protobuf is an error and never worse", "[api][fuzz]") {
  std::mt19937 random{7};
  std::size_t taken = 0;
  auto vectors = test::example_json("protobuf-vectors.json");
  for (const auto& vector : vectors.GetArray()) {
    auto bytes = test::from_hex(vector["hex"].GetString());
    for (int i = 0; i < 2'000; ++i) {
      auto damaged = mutate(bytes, random);
      if (auto request = wire::forward_backward_request_from_protobuf(damaged)) {
        ++taken;
        static_cast<void>(wire::to_protobuf(*request));
      }
      if (auto output = wire::forward_backward_output_from_protobuf(damaged)) {
        ++taken;
        static_cast<void>(wire::to_protobuf(*output));
      }
      if (auto samples = wire::sample_response_from_protobuf(damaged)) {
        ++taken;
        CHECK(wire::to_protobuf(*samples).has_value());
      }
    }
  }
  CHECK(taken > 0);
}

TEST_CASE("Damaged packed bodies are an error and never worse", "[api][fuzz]") {
  constexpr std::size_t max_bytes = 1 << 20;
  std::mt19937 random{11};
  std::string text;
  for (int i = 0; i < 500; ++i)
    text += std::to_string(i * i);
  for (const auto& [encoding, packed] : {std::pair{"zstd", *wire::zstd_compress(text)},
                                         {"gzip", *wire::gzip_compress(text)},
                                         {"deflate", *wire::gzip_compress(text)}})
    for (int i = 0; i < 300; ++i)
      if (auto unpacked = wire::decompress(encoding, mutate(packed, random), max_bytes))
        CHECK(unpacked->size() <= max_bytes);
}

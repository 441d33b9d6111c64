// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "api/wire/protobuf.hpp"

#include <fmt/format.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <cmath>
#include <string>
#include <vector>

#include "bench/benchmarks.hpp"

namespace tinkaf::bench {

namespace {

constexpr std::size_t datums = 128;
constexpr std::size_t tokens = 2048;

/// Numbers as a step of training sends them: token ids of a large vocabulary, weights of any value.
ForwardBackwardRequest request() {
  std::vector<Datum> data(datums);
  for (std::size_t d = 0; d < datums; ++d) {
    std::vector<Token> input(tokens);
    std::vector<std::int64_t> targets(tokens);
    std::vector<float> weights(tokens);
    for (std::size_t t = 0; t < tokens; ++t) {
      input[t] = static_cast<Token>((d * 7919 + t * 104729) % 128000);
      targets[t] = static_cast<std::int64_t>((d * 7919 + (t + 1) * 104729) % 128000);
      weights[t] = static_cast<float>(std::sin(0.37 * static_cast<double>(d + t)));
    }
    data[d].model_input = ModelInput::from_ints(std::move(input));
    data[d].loss_fn_inputs = {{"target_tokens", TensorData::of(std::move(targets))},
                              {"weights", TensorData::of(std::move(weights))}};
  }
  return {.model_id = "bench", .seq_id = 1, .data = BatchSlice::whole(make_batch(std::move(data)))};
}

ForwardBackwardOutput output() {
  ForwardBackwardOutput out{.loss_fn_output_type = "ArrayRecord", .metrics = {{"loss:sum", 1.0}}};
  for (std::size_t d = 0; d < datums; ++d) {
    std::vector<float> logprobs(tokens);
    for (std::size_t t = 0; t < tokens; ++t)
      logprobs[t] = static_cast<float>(-1.5 + std::sin(0.37 * static_cast<double>(d + t)));
    out.loss_fn_outputs.push_back({{"logprobs", TensorData::of(std::move(logprobs))}});
  }
  return out;
}

/// Puts the elements alone at the end of `out`.
void append_elements(const ForwardBackwardRequest& x, std::string& out) {
  const auto append = [&out](const auto& values) {
    out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  for (const auto& datum : x.data.data()) {
    append(std::get<EncodedTextChunk>(datum.model_input.chunks[0]).tokens);
    append(*datum.loss_fn_inputs.at("target_tokens").ints());
    append(*datum.loss_fn_inputs.at("weights").floats());
  }
}

/// The numbers alone, as RapidJSON writes them.
std::size_t write_numbers(const ForwardBackwardRequest& x) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
  writer.StartArray();
  for (const auto& datum : x.data.data()) {
    for (const auto token : std::get<EncodedTextChunk>(datum.model_input.chunks[0]).tokens)
      writer.Int(token);
    for (const auto token : *datum.loss_fn_inputs.at("target_tokens").ints())
      writer.Int64(token);
    for (const auto weight : *datum.loss_fn_inputs.at("weights").floats())
      writer.Double(static_cast<double>(weight));
  }
  writer.EndArray();
  return buffer.GetSize();
}

void report(const char* what, double seconds, std::size_t bytes) {
  fmt::print("  {:8.3f} ms  {:7.0f} MB/s  {}\n", seconds * 1e3,
             static_cast<double>(bytes) / seconds / 1e6, what);
}

} // namespace

void encoding() {
  const auto x = request();
  constexpr auto bytes = datums * tokens * (sizeof(Token) + sizeof(std::int64_t) + sizeof(float));
  const auto protobuf = *wire::to_protobuf(x);
  const auto json = *wire::to_json(x);
  fmt::print("a request of {} x {} tokens: {} bytes of elements, {} of protobuf, {} of JSON\n",
             datums, tokens, bytes, protobuf.size(), json.size());

  std::string kept;
  const auto warm = seconds_per_call([&] {
    kept.clear();
    append_elements(x, kept);
  });
  report("memcpy into memory at hand", warm, bytes);
  const auto fresh = seconds_per_call([&] {
    std::string out;
    out.reserve(bytes);
    append_elements(x, out);
    return out.size();
  });
  report("memcpy into a new string", fresh, bytes);
  const auto ours = seconds_per_call([&] { return wire::to_protobuf(x)->size(); });
  report("to_protobuf", ours, bytes);
  fmt::print("  to_protobuf runs at {:.2f} of memcpy, {:.2f} of memcpy into a new string\n",
             warm / ours, fresh / ours);

  const auto bare = seconds_per_call([&] { return write_numbers(x); });
  report("RapidJSON, bare numbers", bare, json.size());
  const auto written = seconds_per_call([&] { return wire::to_json(x)->size(); });
  report("to_json", written, json.size());
  fmt::print("  to_json runs at {:.2f} of RapidJSON's writer\n", bare / written);

  const auto result = output();
  const auto result_protobuf = *wire::to_protobuf(result);
  const auto result_json = *wire::to_json(result);
  const auto result_bytes = datums * tokens * sizeof(float);
  fmt::print("its result: {} bytes of protobuf, {} of JSON\n", result_protobuf.size(),
             result_json.size());
  report("from protobuf", seconds_per_call([&] {
           return wire::forward_backward_output_from_protobuf(result_protobuf).has_value();
         }),
         result_bytes);
  report("from JSON", seconds_per_call([&] {
           return wire::from_json<ForwardBackwardOutput>(result_json).has_value();
         }),
         result_json.size());
}

} // namespace tinkaf::bench

// SPDX-License-Identifier: Apache-2.0
#include "api/wire/protobuf.hpp"

#include "test/api/wire_examples.hpp"
#include "test/catch.hpp"

#include <cmath>
#include <limits>

#include <tinker_public.pb.h>

using namespace tinkaf;

namespace {

/// The bytes of the n-th vector.
std::string vector_bytes(rapidjson::SizeType n) {
  auto vectors = test::example_json("protobuf-vectors.json");
  return test::from_hex(vectors[n]["hex"].GetString());
}

ForwardBackwardRequest request_of(std::vector<Datum> data) {
  return {.model_id = "m", .seq_id = 1, .data = BatchSlice::whole(make_batch(std::move(data)))};
}

ForwardBackwardOutput round_trip(const ForwardBackwardOutput& output) {
  auto bytes = wire::to_protobuf(output);
  REQUIRE(bytes.has_value());
  auto read = wire::forward_backward_output_from_protobuf(*bytes);
  REQUIRE(read.has_value());
  return *read;
}

std::string field(int number, int type, const std::string& content) {
  return std::string{static_cast<char>(number << 3 | type)} + content;
}

std::string bytes_field(int number, const std::string& content) {
  return field(number, 2, static_cast<char>(content.size()) + content);
}

} // namespace

TEST_CASE("There are five protobuf vectors", "[api][protobuf]") {
  CHECK(test::example_json("protobuf-vectors.json").Size() == 5);
}

TEST_CASE("Dense training requests are those of the vectors, byte for byte", "[api][protobuf]") {
  auto bytes = vector_bytes(0);
  auto request = wire::forward_backward_request_from_protobuf(bytes);
  REQUIRE(request.has_value());
  CHECK(request->model_id == "s1:train:0");
  CHECK(request->seq_id == 3);
  CHECK(request->loss_fn == LossFn::cross_entropy);
  CHECK_FALSE(request->loss_fn_config.has_value());
  CHECK_FALSE(request->forward_only);
  REQUIRE(request->data.data().size() == 1);
  const auto& datum = request->data.data()[0];
  CHECK(datum.model_input == ModelInput::from_ints({11, 12, 13}));
  CHECK(datum.loss_fn_inputs.at("target_tokens")
        == TensorData::of(std::vector<std::int64_t>{12, 13, 14}));
  CHECK(datum.loss_fn_inputs.at("weights") == TensorData::of(std::vector<float>{0.0F, 1.0F, 0.5F}));
  CHECK(test::to_hex(*wire::to_protobuf(*request)) == test::to_hex(bytes));
}

TEST_CASE("Images, audio and sparse tensors are those of the vectors, byte for byte",
          "[api][protobuf]") {
  auto bytes = vector_bytes(1);
  auto request = wire::forward_backward_request_from_protobuf(bytes);
  REQUIRE(request.has_value());
  CHECK(request->forward_only);
  CHECK(request->loss_fn == LossFn::ppo);
  CHECK(request->loss_fn_config == LossFnConfig{{"clip_low_threshold", 0.5}});
  const auto& datum = request->data.data()[0];
  CHECK(datum.model_input.chunks
        == std::vector<ModelInputChunk>{EncodedTextChunk{{1}},
                                        ImageChunk{"\xFF\xD8\xFF", ImageFormat::jpeg, 2},
                                        DmelChunk{"\x04\x02\x03\x50"}});
  TensorData weights{.data = std::vector<float>{0.25F, 0.75F},
                     .shape = std::vector<std::int64_t>{2, 8},
                     .sparse = CsrIndices{{0, 1, 2}, {5, 0}}};
  CHECK(datum.loss_fn_inputs.at("weights") == weights);
  CHECK(test::to_hex(*wire::to_protobuf(*request)) == test::to_hex(bytes));
}

TEST_CASE("Training requests of any size are written as the protobuf library writes them",
          "[api][protobuf]") {
  const auto same = [](const ForwardBackwardRequest& request) {
    const auto bytes = wire::to_protobuf(request).value();
    proto::ForwardBackwardRequest message;
    REQUIRE(message.ParseFromString(bytes));
    CHECK(message.SerializeAsString() == bytes);
    CHECK(message.ByteSizeLong() == bytes.size());
    CHECK(wire::forward_backward_request_from_protobuf(bytes)->data.data().size()
          == request.data.data().size());
  };
  for (const auto tokens : {0, 1, 15, 16, 127, 128, 5000, 300000}) {
    INFO(tokens);
    const auto count = static_cast<std::size_t>(tokens);
    Datum datum{.model_input = ModelInput::from_ints(std::vector<Token>(count, 7))};
    datum.loss_fn_inputs["target_tokens"] = TensorData::of(std::vector<std::int64_t>(count, -1));
    datum.loss_fn_inputs["weights"] = TensorData::of(std::vector<float>(count, 0.5F), {tokens, 1});
    same(request_of(std::vector<Datum>(3, datum)));
  }
  Datum odd;
  odd.model_input.chunks = {EncodedTextChunk{}, ImageChunk{"", ImageFormat::png, -5},
                            ImageChunk{std::string(200, 'x')}, DmelChunk{}};
  odd.loss_fn_inputs[""] = TensorData{.data = std::vector<float>{}};
  odd.loss_fn_inputs["csr"] = TensorData{.data = std::vector<float>{},
                                         .shape = std::vector<std::int64_t>{0, 1LL << 40},
                                         .sparse = CsrIndices{{0}, {}}};
  auto request = request_of({odd, Datum{}});
  request.loss_fn_config = LossFnConfig{{"", 0.0}, {"beta", -1.5}};
  request.forward_only = true;
  request.seq_id = std::numeric_limits<std::int32_t>::max();
  same(request);
  request.seq_id.reset();
  request.model_id.clear();
  same(request);
  same(request_of({}));
}

TEST_CASE("Results of a training pass are those of the vectors", "[api][protobuf]") {
  auto output = wire::forward_backward_output_from_protobuf(vector_bytes(2));
  REQUIRE(output.has_value());
  CHECK(output->loss_fn_output_type == "TorchLossReturn");
  CHECK(output->metrics == Metrics{{"loss:sum", 5.0}});
  REQUIRE(output->loss_fn_outputs.size() == 2);
  CHECK(output->loss_fn_outputs[0].at("logprobs")
        == TensorData::of(std::vector<float>{-0.5F, -1.0F, -1.5F}));
  CHECK(output->loss_fn_outputs[1].at("logprobs") == TensorData::of(std::vector<float>{-2.0F}));

  output->loss_fn_output_type = "pkg.mod:TorchLossReturn";
  CHECK(test::to_hex(*wire::to_protobuf(*output)) == test::to_hex(vector_bytes(2)));
}

TEST_CASE("Narrow element types are widened, record by record", "[api][protobuf]") {
  auto output = wire::forward_backward_output_from_protobuf(vector_bytes(3));
  REQUIRE(output.has_value());
  REQUIRE(output->loss_fn_outputs.size() == 2);
  CHECK(output->loss_fn_outputs[0].at("x")
        == TensorData::of(std::vector<float>{1.0F, -2.0F}, {2, 1}));
  CHECK(output->loss_fn_outputs[1].at("x")
        == TensorData::of(std::vector<std::int64_t>{7, -8, 9}, {1, 3}));
}

TEST_CASE("Samples are those of the vectors, byte for byte", "[api][protobuf]") {
  auto bytes = vector_bytes(4);
  auto samples = wire::sample_response_from_protobuf(bytes);
  REQUIRE(samples.has_value());
  SampleResponse expected{
      .sequences = {{StopReason::stop, {21, 22}, std::vector<float>{-0.125F, -0.25F}},
                    {StopReason::length, {23}, std::nullopt}},
      .prompt_logprobs = {{std::nullopt, -1.5F, -2.5F}},
      .topk_prompt_logprobs = {{std::nullopt, std::vector<TokenLogprob>{{5, -0.5F}, {6, -1.0F}},
                                std::vector<TokenLogprob>{{7, -0.25F}}}},
      .prompt_cache_hit_tokens = 2};
  CHECK(*samples == expected);
  CHECK(test::to_hex(*wire::to_protobuf(*samples)) == test::to_hex(bytes));
}

TEST_CASE("An empty tensor and an empty text are there, with nothing inside", "[api][protobuf]") {
  Datum datum{ModelInput::from_ints({}), {{"weights", TensorData::of(std::vector<float>{})}}};
  auto bytes = wire::to_protobuf(request_of({datum}));
  REQUIRE(bytes.has_value());
  auto read = wire::forward_backward_request_from_protobuf(*bytes);
  REQUIRE(read.has_value());
  CHECK(read->data.data()[0] == datum);
}

TEST_CASE("Outputs of any shape survive, grouped into records", "[api][protobuf]") {
  ForwardBackwardOutput output{.loss_fn_output_type = "T"};
  output.loss_fn_outputs = {
      {{"a", TensorData::of(std::vector<float>{1, 2, 3, 4}, {2, 2})},
       {"b", TensorData::of(std::vector<std::int64_t>{-1})}},
      {{"a", TensorData::of(std::vector<float>{5, 6}, {1, 2})},
       {"b", TensorData::of(std::vector<std::int64_t>{})}},
      {{"a", TensorData::of(std::vector<float>{7, 8, 9}, {1, 3})},
       {"b", TensorData::of(std::vector<std::int64_t>{1, 2})}},
  };
  output.metrics = {{"loss:sum", 0.0}, {"n:sum", -3.5}};
  CHECK(round_trip(output) == output);
}

TEST_CASE("Outputs without fields are counted", "[api][protobuf]") {
  ForwardBackwardOutput output{.loss_fn_output_type = "T"};
  output.loss_fn_outputs.resize(3);
  CHECK(round_trip(output).loss_fn_outputs.size() == 3);

  // A record that claims 2^62 datums and brings none must not take the memory for them.
  auto bomb = bytes_field(2, field(3, 0, "\x80\x80\x80\x80\x80\x80\x80\x80\x40"));
  auto read = wire::forward_backward_output_from_protobuf(bomb);
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code == Errc::protocol_error);
}

TEST_CASE("A result of nothing has a type even so", "[api][protobuf]") {
  auto output = wire::forward_backward_output_from_protobuf("");
  REQUIRE(output.has_value());
  CHECK(output->loss_fn_output_type == "ArrayRecord");
  CHECK(output->loss_fn_outputs.empty());
}

TEST_CASE("Shapes are read packed and unpacked", "[api][protobuf]") {
  auto request_with = [](const std::string& shape) {
    auto tensor = bytes_field(1, std::string(8, '\0')) + field(3, 0, "\x01") + shape;
    auto entry = bytes_field(1, "w") + bytes_field(2, tensor);
    return bytes_field(3, bytes_field(2, entry)) + bytes_field(4, "cross_entropy");
  };
  auto packed
      = wire::forward_backward_request_from_protobuf(request_with(bytes_field(4, "\x02\x01")));
  auto unpacked = wire::forward_backward_request_from_protobuf(
      request_with(field(4, 0, "\x02") + field(4, 0, "\x01")));
  REQUIRE(packed.has_value());
  REQUIRE(unpacked.has_value());
  CHECK(packed->data.data()[0] == unpacked->data.data()[0]);
  CHECK(unpacked->data.data()[0].loss_fn_inputs.at("w").shape == std::vector<std::int64_t>{2, 1});
}

TEST_CASE("What training cannot carry is refused by name", "[api][protobuf]") {
  auto message = [](const ForwardBackwardRequest& request) {
    auto bytes = wire::to_protobuf(request);
    REQUIRE_FALSE(bytes.has_value());
    CHECK(bytes.error().code == Errc::invalid_argument);
    return bytes.error().message;
  };
  Datum pointer{{{EncodedTextChunk{{1}}, ImageAssetPointerChunk{"https://x", ImageFormat::png, 3}}},
                {}};
  CHECK(message(request_of({{}, pointer})).find("`data[1].model_input.chunks[1]`")
        != std::string::npos);
  auto far = request_of({});
  far.seq_id = std::int64_t{1} << 31;
  CHECK(message(far).find("`seq_id` is 2147483648") != std::string::npos);
  auto negative = request_of({{{}, {{"w", TensorData::of(std::vector<float>{}, {-1})}}}});
  CHECK(message(negative).find("`data[0].loss_fn_inputs.w.shape`") != std::string::npos);
  auto garbled = request_of({{{}, {{"w\xFF", TensorData::of(std::vector<float>{})}}}});
  CHECK(message(garbled).find("not UTF-8") != std::string::npos);
}

TEST_CASE("Damaged messages name record and field", "[api][protobuf]") {
  auto read_field = [](const std::string& batched) {
    auto record
        = bytes_field(2, bytes_field(1, "x") + bytes_field(2, batched)) + field(3, 0, "\x01");
    auto output = wire::forward_backward_output_from_protobuf(bytes_field(2, record));
    REQUIRE_FALSE(output.has_value());
    CHECK(output.error().message.find("`loss_fn_outputs[0].x`") != std::string::npos);
    return output.error().message;
  };
  auto offsets = [](char end) { return std::string(8, '\0') + end + std::string(7, '\0'); };
  auto float32 = field(3, 0, "\x01");
  CHECK(read_field(float32).find("offsets") != std::string::npos);
  CHECK(read_field(bytes_field(1, "abcd") + bytes_field(2, offsets(5)) + float32)
            .find("outside its 4 bytes")
        != std::string::npos);
  CHECK(read_field(bytes_field(1, "abc") + bytes_field(2, offsets(3)) + float32)
            .find("no multiple of 4")
        != std::string::npos);
  CHECK(read_field(bytes_field(1, "abcd") + bytes_field(2, offsets(4)) + field(3, 0, "\x09"))
            .find("unknown dtype 9")
        != std::string::npos);
  CHECK(read_field(bytes_field(1, "abcd") + bytes_field(2, offsets(4)) + float32
                   + bytes_field(4, "\x03"))
            .find("in rows of 3")
        != std::string::npos);
}

TEST_CASE("An unknown reason to stop is an error", "[api][protobuf]") {
  auto samples = wire::sample_response_from_protobuf(bytes_field(1, field(1, 0, "\x07")));
  REQUIRE_FALSE(samples.has_value());
  CHECK(samples.error().message.find("`sequences[0].stop_reason` is 7") != std::string::npos);
}

TEST_CASE("A top-k table of other size than it says is an error", "[api][protobuf]") {
  auto table = field(3, 0, "\xFF\xFF\xFF\xFF\x0F") + field(4, 0, "\xFF\xFF\xFF\xFF\x0F");
  CHECK_FALSE(wire::sample_response_from_protobuf(bytes_field(3, table)).has_value());
}

// SPDX-License-Identifier: Apache-2.0
#include "api/wire/base64.hpp"
#include "api/wire/json.hpp"
#include "api/wire/utf8.hpp"
#include "test/api/wire_examples.hpp"
#include "test/catch.hpp"

#include <cmath>
#include <limits>

using namespace tinkaf;

namespace {

template <class T>
Error error_of(const std::string& json) {
  auto read = wire::from_json<T>(json);
  REQUIRE_FALSE(read.has_value());
  return read.error();
}

constexpr auto not_a_number = std::numeric_limits<double>::quiet_NaN();

} // namespace

TEST_CASE("What is wrong with a body is named", "[api][json]") {
  struct Case {
    std::string json;
    std::string message;
  };
  auto [json, message] = GENERATE(values<Case>({
      {R"({"session_id":"s","model_seq_id":0,"base_model":"m","lora_config":{"rank":"8"}})",
       "create_model request: `lora_config.rank` must be an integer of 32 bits, got a string"},
      {R"({"session_id":"s","model_seq_id":0.5,"base_model":"m"})",
       "create_model request: `model_seq_id` must be an integer, got 0.5"},
      {R"({"session_id":"s","model_seq_id":0})", "create_model request: `base_model` is missing"},
      {R"({"session_id":"s","model_seq_id":0,"base_model":"m","type":"get_info"})",
       R"(create_model request: `type` must be "create_model", got "get_info")"},
      {R"([1])", "create_model request: the body must be an object, got an array"},
      {"", "create_model request: the body is empty"},
      {R"({"session_id":"s","model_seq_id":1e400,"base_model":"m"})",
       "create_model request: the body is not JSON (byte 33: Number too big to be stored in "
       "double.)"},
  }));
  auto error = error_of<CreateModelRequest>(json);
  CHECK(error.message == message);
  CHECK(error.code == Errc::invalid_argument);
}

TEST_CASE("A wrong answer is the peer's fault, a wrong request the caller's", "[api][json]") {
  CHECK(error_of<FutureRef>("{}").code == Errc::protocol_error);
  CHECK(error_of<FutureRef>("{}").message == "submission answer: `request_id` is missing");
  CHECK(error_of<RetrieveFutureRequest>("{}").code == Errc::invalid_argument);
}

TEST_CASE("Errors in data name the datum and the place", "[api][json]") {
  auto json = test::example("legacy.forward_backward.request.json");
  auto at = json.find("0.5");
  REQUIRE(at != std::string::npos);
  auto broken = json;
  broken.replace(at, 3, "\"x\"");
  CHECK(error_of<ForwardBackwardRequest>(broken).message
        == "forward_backward request: `forward_backward_input.data[0].loss_fn_inputs.weights"
           ".data[2]` must be a number, got a string");
  broken = json;
  broken.replace(at, 3, "1e39");
  CHECK(error_of<ForwardBackwardRequest>(broken).message.find("beyond what a float32 can hold")
        != std::string::npos);
  broken = json;
  broken.replace(broken.find("cross_entropy"), 13, "mse");
  CHECK(error_of<ForwardBackwardRequest>(broken).message.find("`mse`") != std::string::npos);
}

TEST_CASE("Depth is limited, whatever the size", "[api][json]") {
  auto deep = std::string(300'000, '[');
  CHECK(error_of<CreateModelRequest>(deep).message
        == "create_model request: the body is nested deeper than 64");
  auto in_text = R"({"request_id":")" + std::string(1'000, '[') + R"("})";
  CHECK(wire::from_json<FutureRef>(in_text).has_value());
}

TEST_CASE("A zero byte does not end a body", "[api][json]") {
  CHECK_FALSE(wire::from_json<ClientConfig>(std::string{"{}\0", 3}).has_value());
  CHECK_FALSE(wire::from_json<ClientConfig>("{} x").has_value());
}

TEST_CASE("Numbers that JSON cannot hold are refused by name", "[api][json]") {
  OptimStepRequest step;
  step.adam_params.learning_rate = not_a_number;
  auto json = wire::to_json(step);
  REQUIRE_FALSE(json.has_value());
  CHECK(json.error().message
        == "optim_step request: `adam_params.learning_rate` is nan, which JSON cannot hold");

  ForwardBackwardOutput output;
  output.loss_fn_outputs.push_back(
      {{"logprobs", TensorData::of(std::vector<float>{0.0F, static_cast<float>(-INFINITY)})}});
  auto result = wire::to_json(output);
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().message
        == "forward_backward result: `loss_fn_outputs[0].logprobs.data[1]` is -inf, which JSON "
           "cannot hold");

  SampleResponse samples;
  samples.sequences.push_back(
      {StopReason::stop, {1}, std::vector<float>{static_cast<float>(not_a_number)}});
  CHECK_FALSE(wire::to_json(samples).has_value());
}

TEST_CASE("Text that is not UTF-8 is refused with data and made readable elsewhere",
          "[api][json]") {
  AsampleRequest request;
  request.model_path = "tinker://\xFF";
  auto refused = wire::to_json(request);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().message == "asample request: `model_path` is not UTF-8 text");

  auto written = wire::to_json(GetInfoRequest{"a\xFF"});
  auto read = wire::from_json<GetInfoRequest>(written);
  REQUIRE(read.has_value());
  CHECK(read->model_id == "a\xEF\xBF\xBD");
  CHECK_FALSE(wire::from_json<GetInfoRequest>("{\"model_id\":\"\xFF\"}").has_value());
}

TEST_CASE("UTF-8 is told from what only looks like it", "[api][utf8]") {
  CHECK(wire::is_utf8("plain, \xC3\xA9, \xE2\x82\xAC, \xF0\x9F\x98\x80"));
  CHECK_FALSE(wire::is_utf8("\xC0\xAF"));         // overlong
  CHECK_FALSE(wire::is_utf8("\xE0\x80\xAF"));     // overlong
  CHECK_FALSE(wire::is_utf8("\xED\xA0\x80"));     // surrogate
  CHECK_FALSE(wire::is_utf8("\xF4\x90\x80\x80")); // above U+10FFFF
  CHECK_FALSE(wire::is_utf8("\xE2\x82"));         // cut off
  CHECK(wire::replace_invalid_utf8("a\xE2\x82") == "a\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(wire::excerpt("a\xE2\x82\xAC", 3) == "a...");
  CHECK(wire::excerpt("abc", 3) == "abc");
}

TEST_CASE("Base64 takes standard text and nothing else", "[api][base64]") {
  for (auto [bytes, text] : {std::pair<std::string, std::string>{"", ""},
                             {"f", "Zg=="},
                             {"fo", "Zm8="},
                             {"foo", "Zm9v"},
                             {"foobar", "Zm9vYmFy"},
                             {std::string{"\xFF\xFE\x00", 3}, "//4A"}}) {
    CHECK(wire::to_base64(bytes) == text);
    CHECK(wire::from_base64(text) == bytes);
  }
  for (const auto* bad : {"Z", "Zg=", "Z===", "====", "Zm9v ", "Zg==Zg==", "Zm-_", "=m9v"})
    CHECK_FALSE(wire::from_base64(bad).has_value());
}

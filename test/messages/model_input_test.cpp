// SPDX-License-Identifier: Apache-2.0
#include "messages/model_input.hpp"

#include "test/catch.hpp"

#include <string>

using namespace tinkaf;

namespace {

Result<std::int64_t> dmel_length(std::string bytes) {
  return length(ModelInputChunk{DmelChunk{std::move(bytes)}});
}

} // namespace

TEST_CASE("The length of an input is the sum over its chunks", "[messages][model_input]") {
  auto input = ModelInput::from_ints({1, 2, 3});
  input.chunks.emplace_back(ImageChunk{.data = "x", .expected_tokens = 64});
  CHECK(length(input) == 67);
}

TEST_CASE("An image without expected tokens has no length", "[messages][model_input]") {
  auto input = ModelInput{.chunks = {ImageChunk{.data = "x"}}};
  auto result = length(input);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Errc::invalid_argument);
  CHECK(result.error().message.find("expected_tokens") != std::string::npos);
}

TEST_CASE("Token ids exist only where every chunk is text", "[messages][model_input]") {
  auto input = ModelInput::from_ints({1, 2});
  input.chunks.emplace_back(EncodedTextChunk{{3}});
  CHECK(to_ints(input) == std::vector<Token>{1, 2, 3});
  input.chunks.emplace_back(DmelChunk{"x"});
  auto result = to_ints(input);
  REQUIRE_FALSE(result);
  CHECK(result.error().message.find("chunks[2]") != std::string::npos);
}

// Headers worked out by hand from the container's layout: dtype, number of dimensions, dimensions.
TEST_CASE("A dmel chunk is as long as its first dimension", "[messages][model_input]") {
  CHECK(dmel_length("\x04\x02\x82\x01\x50") == 130);
  CHECK(dmel_length("\xFE\x04\x02\x82\x01\x50") == 130);
}

TEST_CASE("A malformed dmel header is refused", "[messages][model_input]") {
  auto bytes = GENERATE(std::string{}, std::string{"\x04"}, std::string{"\x04\x02"},
                        std::string{"\x04\x02\x80"}, std::string{"\xFE"},
                        std::string{"\x08\x02\x01\x50"}, "\x04" + std::string(10, '\x80'));
  auto result = dmel_length(bytes);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == Errc::invalid_argument);
}

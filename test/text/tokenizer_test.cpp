// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.hpp"

#include "test/catch.hpp"
#include "text/bpe_trainer.hpp"

#include <filesystem>
#include <random>

using namespace tinkaf;

namespace {

text::Tokenizer tiny() {
  return text::Tokenizer::load(std::filesystem::path{TINKAF_SOURCE_DIR}
                               / "models/tiny/tokenizer.json")
      .value();
}

/// The text of a small vocabulary: bytes a and b, their pair, one added token.
std::string small_json(std::string_view from = {}, std::string_view to = {}) {
  text::BpeOptions options;
  options.vocab_size = 262;
  const std::vector<std::string> texts{"abab abab abab"};
  auto json = text::train_bpe(texts, options).value();
  if (!from.empty()) {
    const auto at = json.find(from);
    REQUIRE(at != std::string::npos);
    json.replace(at, from.size(), to);
  }
  return json;
}

std::string refusal(const std::string& json) {
  const auto parsed = text::Tokenizer::parse(json, "x.json");
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == Errc::invalid_argument);
  return parsed.error().message;
}

bool holds(const std::string& text, const char* part) {
  INFO(text);
  return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("any bytes come back from their tokens", "[text]") {
  const auto tokenizer = tiny();
  std::mt19937 random{7};
  for (int round = 0; round < 200; ++round) {
    std::string bytes(random() % 60, '\0');
    for (auto& x : bytes)
      x = static_cast<char>(random());
    CHECK(tokenizer.decode(tokenizer.encode(bytes)) == bytes);
  }
  const std::string text
      = "Einstein,  Albert\n\t\u00e9\u4e2d\U0001F600 don't 2024 <|im_start|>user";
  CHECK(tokenizer.decode(tokenizer.encode(text)) == text);
  CHECK(tokenizer.decode(tokenizer.encode(text, true)) == text);
  CHECK(tokenizer.encode("").empty());
}

TEST_CASE("added tokens are found in the text unless it is plain", "[text]") {
  const auto tokenizer = tiny();
  const auto start = tokenizer.id_of("<|im_start|>").value();
  const auto tokens = tokenizer.encode("a<|im_start|>b");
  REQUIRE(tokens.size() == 3);
  CHECK(tokens[1] == start);
  for (const auto token : tokenizer.encode("a<|im_start|>b", true))
    CHECK(token != start);
  CHECK(tokenizer.eos() == tokenizer.id_of("<|endoftext|>"));
}

TEST_CASE("ids outside the vocabulary have no bytes", "[text]") {
  const auto tokenizer = tiny();
  const std::vector<std::int32_t> tokens{-1, 1 << 30, tokenizer.id_of("a").value()};
  CHECK(tokenizer.decode(tokens) == "a");
  CHECK(tokenizer.vocab_size() == 1024);
}

TEST_CASE("merges apply by rank, not by place", "[text]") {
  // "ab" ranks before "abab": "xabab" is x, abab.
  const auto tokenizer = text::Tokenizer::parse(small_json(), "x.json").value();
  CHECK(tokenizer.encode("abab").size() == 1);
  CHECK(tokenizer.encode("aab").size() == 2);
}

TEST_CASE("damaged tokenizer files are refused by field", "[text]") {
  CHECK(holds(refusal("{"), "x.json: at byte"));
  CHECK(holds(refusal("{}"), "model.type"));
  CHECK(holds(refusal(small_json("\"BPE\"", "\"Unigram\"")), "model.type"));
  CHECK(holds(refusal(small_json("\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\"}")),
              "NFC"));
  CHECK(holds(refusal(small_json("\"a b\"", "\"a zz\"")), "model.merges[0]"));
  CHECK(holds(refusal(small_json("\"a\": ", "\"a\": -")), "model.vocab"));
  CHECK(holds(refusal(small_json("\"Isolated\"", "\"Removed\"")), "pre_tokenizer.behavior"));
  CHECK(holds(refusal(small_json("\\\\p{L}+", "\\\\p{L")), "pre_tokenizer"));
}

TEST_CASE("a missing file is named", "[text]") {
  const auto loaded = text::Tokenizer::load("/nonexistent/tokenizer.json");
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().code == Errc::io_error);
  CHECK(holds(loaded.error().message, "/nonexistent/tokenizer.json"));
}

// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer.hpp"

#include "test/catch.hpp"
#include "text/bpe_trainer.hpp"
#include "text/splitter.hpp"

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

TEST_CASE("text is composed where the file says so", "[text]") {
  const auto plain = text::Tokenizer::parse(small_json(), "x.json").value();
  const auto nfc
      = text::Tokenizer::parse(
            small_json("\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\"}"), "x.json")
            .value();
  const std::string apart = "e\u0301\u0323 \u1112\u1161\u11ab";
  const std::string composed = "\u1eb9\u0301 \ud55c";
  CHECK(plain.decode(plain.encode(apart)) == apart);
  CHECK(nfc.decode(nfc.encode(apart)) == composed);
  CHECK(nfc.encode(apart) == nfc.encode(composed));
  // Bytes that are no text stay, and so does what is around them.
  CHECK(nfc.decode(nfc.encode("e\u0301\xff"
                              "e\u0301\xcc"))
        == "\u00e9\xff\u00e9\xcc");
  std::string many;
  std::string many_composed;
  for (int i = 0; i < 1000; ++i) {
    many += "ab\u4e2de\u0301";
    many_composed += "ab\u4e2d\u00e9";
  }
  CHECK(nfc.decode(nfc.encode(many)) == many_composed);
}

TEST_CASE("added tokens that are normalized are found in composed text", "[text]") {
  const auto found = [](bool normalized) {
    auto json = small_json("\"normalizer\": null", "\"normalizer\": {\"type\": \"NFC\"}");
    const auto at = json.find("\"added_tokens\": [") + 17;
    json.insert(at, std::string{"{\"id\": 261, \"content\": \"\u00e9!\", \"normalized\": "}
                        + (normalized ? "true" : "false") + "}, ");
    const auto tokenizer = text::Tokenizer::parse(json, "x.json").value();
    return tokenizer.encode("e\u0301!").size() == 1;
  };
  CHECK(found(true));
  CHECK_FALSE(found(false));
}

TEST_CASE("a Mongolian vowel separator is no white space", "[text]") {
  const auto splitter = text::Splitter::compile(R"([^\s]+|\s+)").value();
  std::vector<std::string> pieces;
  splitter.split("a\u180e \u2003b", [&](std::string_view x) { pieces.emplace_back(x); });
  CHECK(pieces == std::vector<std::string>{"a\u180e", " \u2003", "b"});
}

TEST_CASE("digits stand alone where the file says so", "[text]") {
  auto json = small_json();
  const auto at = json.find("\"pre_tokenizer\": ") + 17;
  json.insert(at, R"({"type": "Sequence", "pretokenizers": [
      {"type": "Digits", "individual_digits": true},
      {"type": "ByteLevel", "add_prefix_space": false}]}, "unused": )");
  const auto tokenizer = text::Tokenizer::parse(json, "x.json").value();
  CHECK(tokenizer.encode("12").size() == 2);
  CHECK(tokenizer.encode("abab").size() == 1);
}

TEST_CASE("long pieces are merged as short ones are", "[text]") {
  const auto tokenizer = text::Tokenizer::parse(small_json(), "x.json").value();
  for (const std::size_t pairs : {1U, 20U, 30U, 500U}) {
    std::string text;
    for (std::size_t i = 0; i < pairs; ++i)
      text += "abab";
    CHECK(tokenizer.encode(text).size() == pairs);
  }
}

TEST_CASE("bytes that a vocabulary lacks are left out, and what was beside them meets", "[text]") {
  auto json = small_json();
  const auto at = json.find("\"c\": ");
  REQUIRE(at != std::string::npos);
  json.erase(at, json.find(',', at) + 1 - at);
  const auto lacking = text::Tokenizer::parse(json, "x.json").value();
  const auto whole = text::Tokenizer::parse(small_json(), "x.json").value();
  CHECK(lacking.encode("acb") == whole.encode("ab"));
  CHECK(lacking.encode("ccc").empty());
  CHECK(lacking.encode("").empty());
  std::string longer;
  std::string without;
  for (int i = 0; i < 100; ++i) {
    longer += "acb";
    without += "ab";
  }
  CHECK(lacking.encode(longer) == whole.encode(without));
  CHECK(lacking.decode(lacking.encode("bca")) == "ba");
}

TEST_CASE("damaged tokenizer files are refused by field", "[text]") {
  CHECK(holds(refusal("{"), "x.json: at byte"));
  CHECK(holds(refusal("{}"), "model.type"));
  CHECK(holds(refusal(small_json("\"BPE\"", "\"Unigram\"")), "model.type"));
  CHECK(holds(refusal(small_json("\"normalizer\": null", "\"normalizer\": {\"type\": \"NFKC\"}")),
              "NFKC"));
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

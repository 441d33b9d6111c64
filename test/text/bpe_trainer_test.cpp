// SPDX-License-Identifier: Apache-2.0
#include "text/bpe_trainer.hpp"

#include "test/catch.hpp"
#include "text/tokenizer.hpp"

using namespace tinkaf;

namespace {

const std::vector<std::string> texts{"the cat sat on the mat, the cat sat on the hat 1234",
                                     "the other cat and the other mat"};

text::BpeOptions options(std::size_t vocab_size) {
  text::BpeOptions out;
  out.vocab_size = vocab_size;
  return out;
}

} // namespace

TEST_CASE("the same texts give the same vocabulary, in any order", "[text]") {
  const auto first = text::train_bpe(texts, options(280)).value();
  const std::vector<std::string> reversed{texts[1], texts[0]};
  CHECK(text::train_bpe(texts, options(280)).value() == first);
  CHECK(text::train_bpe(reversed, options(280)).value() == first);
}

TEST_CASE("the most frequent pair is merged first, among equals the one with lower ids", "[text]") {
  // "ab" and "cd" occur twice each; only one merge fits.
  const std::vector<std::string> pairs{"ab cd ab cd"};
  auto narrow = options(260);
  narrow.pattern = R"(\p{L}+| )";
  const auto json = text::train_bpe(pairs, narrow).value();
  const auto tokenizer = text::Tokenizer::parse(json, "test").value();
  CHECK(tokenizer.vocab_size() == 260);
  CHECK(tokenizer.encode("ab").size() == 1);
  CHECK(tokenizer.encode("cd").size() == 2);
}

TEST_CASE("tokens never cross a piece: digits stay single", "[text]") {
  const std::vector<std::string> digits(20, "12121212 x 12121212");
  const auto json = text::train_bpe(digits, options(400)).value();
  const auto tokenizer = text::Tokenizer::parse(json, "test").value();
  CHECK(tokenizer.encode("1212").size() == 4);
}

TEST_CASE("learning stops where no pair occurs twice", "[text]") {
  const std::vector<std::string> once{"abc"};
  const auto json = text::train_bpe(once, options(400)).value();
  CHECK(text::Tokenizer::parse(json, "test").value().vocab_size() == 259);
}

TEST_CASE("a vocabulary too small for all bytes is refused", "[text]") {
  const auto made = text::train_bpe(texts, options(258));
  REQUIRE_FALSE(made);
  CHECK(made.error().code == Errc::invalid_argument);
  CHECK(made.error().message.find("vocab_size is 258") != std::string::npos);
}

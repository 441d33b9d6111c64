// SPDX-License-Identifier: Apache-2.0
#include "train/tokenizers_equal.hpp"

#include "test/catch.hpp"
#include "text/bpe_trainer.hpp"

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

text::Tokenizer trained_on(const std::string& text, std::size_t vocab_size) {
  auto options = text::BpeOptions{};
  options.vocab_size = vocab_size;
  const auto json = text::train_bpe(std::vector<std::string>{text}, options);
  REQUIRE(json);
  auto tokenizer = text::Tokenizer::parse(*json, "tokenizer.json");
  REQUIRE(tokenizer);
  return *tokenizer;
}

} // namespace

TEST_CASE("Tokenizers are told apart by their sizes and by what a token stands for", "[train]") {
  const auto one = trained_on("ab ab ab", 261);
  CHECK(token_difference(one, trained_on("ab ab ab", 261)) == std::nullopt);
  CHECK(token_difference(one, trained_on("ab ab ab", 260)) == "261 tokens and 260");
  CHECK(token_difference(one, trained_on("xy xy xy", 261))->find("is another")
        != std::string::npos);
}

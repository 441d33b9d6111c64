// SPDX-License-Identifier: Apache-2.0
#include "api/chunking.hpp"

#include "test/api/wire_examples.hpp"
#include "test/catch.hpp"

using namespace tinkaf;

TEST_CASE("Chunks are those of the examples", "[api][chunking]") {
  auto cases = test::example_json("chunking.json");
  int planned = 0;
  for (const auto& example : cases.GetArray()) {
    if (!example.HasMember("datum_bytes"))
      continue;
    INFO(example["name"].GetString());
    ++planned;
    std::vector<std::int64_t> sizes;
    for (const auto& size : example["datum_bytes"].GetArray())
      sizes.push_back(size.GetInt64());
    auto chunks = plan_chunks(
        sizes, ChunkLimits{example["max_len"].GetInt64(), example["max_bytes"].GetInt64()});
    const auto& expected = example["chunks"];
    REQUIRE(chunks.size() == expected.Size());
    for (rapidjson::SizeType i = 0; i < expected.Size(); ++i) {
      CHECK(chunks[i].first == expected[i][0].GetUint64());
      CHECK(chunks[i].last == expected[i][expected[i].Size() - 1].GetUint64() + 1);
      CHECK(chunks[i].bytes == example["chunk_bytes"][i].GetInt64());
    }
  }
  CHECK(planned == 2);
}

TEST_CASE("Estimates are those of the examples", "[api][chunking]") {
  auto cases = test::example_json("chunking.json");
  Datum plain{ModelInput::from_ints({1, 2, 3}),
              {{"target_tokens", TensorData::of(std::vector<std::int64_t>{1, 2, 3})},
               {"weights", TensorData::of(std::vector<float>{1, 1, 1})}}};
  CHECK(estimate_training_bytes(plain) == cases[2]["bytes"].GetInt64());

  TensorData csr{.data = std::vector<float>{1, 2},
                 .shape = std::vector<std::int64_t>{2, 8},
                 .sparse = CsrIndices{{0, 1, 2}, {5, 0}}};
  Datum mixed{{{EncodedTextChunk{{1}}, ImageChunk{"abc"}, DmelChunk{"abcd"}}}, {{"weights", csr}}};
  CHECK(estimate_training_bytes(mixed) == cases[3]["bytes"].GetInt64());
}

TEST_CASE("Sampling counts its tokens dearer, and addresses by their length", "[api][chunking]") {
  ModelInput prompt{{EncodedTextChunk{{1, 2}}, ImageAssetPointerChunk{"https://x"}}};
  CHECK(estimate_sampling_bytes(prompt) == 29);
  CHECK(estimate_training_bytes(prompt) == 17);
}

TEST_CASE("Nothing makes no chunk, and a limit of nothing one per example", "[api][chunking]") {
  CHECK(plan_chunks(std::vector<Datum>{}, {}).empty());
  std::vector<std::int64_t> sizes{1, 1};
  CHECK(plan_chunks(sizes, ChunkLimits{0, 0}).size() == 2);
}

TEST_CASE("C1 to C7: batches are cut by the official estimates, never into nothing",
          "[api][chunking]") {
  auto text = [](std::size_t tokens) {
    return Datum{.model_input = ModelInput::from_ints(std::vector<Token>(tokens, 1))};
  };
  auto sizes = [](const std::vector<Datum>& data) {
    std::vector<std::size_t> result;
    for (const auto& chunk : plan_chunks(data, {}))
      result.push_back(chunk.last - chunk.first);
    return result;
  };
  using Sizes = std::vector<std::size_t>;
  CHECK(sizes(std::vector<Datum>(1'024, text(1))) == Sizes{1'024});
  CHECK(sizes(std::vector<Datum>(1'025, text(1))) == Sizes{1'024, 1});
  // 4 bytes a token: 125 of 40,000 bytes are exactly 5,000,000.
  CHECK(sizes(std::vector<Datum>(51, text(10'000))) == Sizes{51});
  CHECK(sizes(std::vector<Datum>(126, text(10'000))) == Sizes{125, 1});
  CHECK(sizes(std::vector<Datum>(21, text(60'000))) == Sizes{20, 1});
  Datum image{.model_input = {{ImageChunk{.data = std::string(2'000'000, 'x')}}}};
  CHECK(sizes({text(1'000), image, text(1'000), image, text(1'000)}) == Sizes{5});
  CHECK(sizes({text(1'000), image, text(1'000), image, text(1'000), image}) == Sizes{5, 1});
  CHECK(sizes({}).empty());
  CHECK(sizes({text(1'500'000)}) == Sizes{1});
  CHECK(sizes({text(1), text(1'500'000), text(1)}) == Sizes{1, 1, 1});
}

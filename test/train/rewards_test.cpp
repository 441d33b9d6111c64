// SPDX-License-Identifier: Apache-2.0
#include "train/rewards.hpp"

#include "test/catch.hpp"

using namespace tinkaf;
using namespace tinkaf::train;

TEST_CASE("An answer earns 1 if it is the completion", "[train][rewards]") {
  const auto row = PromptCompletion{"1 + 1 = ", "2"};
  CHECK(exact_reward(row, "2") == 1.0);
  CHECK(exact_reward(row, "") == 0.0);
  CHECK(exact_reward(row, "2 ") == 0.0);
  CHECK(exact_reward({"", ""}, "") == 1.0);
}

TEST_CASE("An answer earns the share of the completion that it begins with", "[train][rewards]") {
  const auto row = PromptCompletion{"letters: ", "abcd"};
  CHECK(prefix_reward(row, "") == 0.0);
  CHECK(prefix_reward(row, "bcd") == 0.0);
  CHECK(prefix_reward(row, "a") == 0.25);
  CHECK(prefix_reward(row, "abxd") == 0.5);
  CHECK(prefix_reward(row, "abcd") == 1.0);
  CHECK(prefix_reward(row, "abcde") == 0.75);
  CHECK(prefix_reward(row, "abcdefghijkl") == 0.5); // still better than a part
  CHECK(prefix_reward({"", ""}, "") == 1.0);
  CHECK(prefix_reward({"", ""}, "a") == 0.0);
}

TEST_CASE("A reward is known by its name", "[train][rewards]") {
  const auto row = PromptCompletion{"", "ab"};
  CHECK((*parse_reward("exact"))(row, "a") == 0.0);
  CHECK((*parse_reward("prefix"))(row, "a") == 0.5);
  CHECK(parse_reward("best").error().message == "unknown reward \"best\": it is exact or prefix");
}

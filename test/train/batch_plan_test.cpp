// SPDX-License-Identifier: Apache-2.0
#include "train/batch_plan.hpp"

#include "test/catch.hpp"

#include <algorithm>
#include <set>

using tinkaf::train::BatchPlan;
using tinkaf::train::LoaderPosition;

TEST_CASE("An epoch deals each row once and leaves out the rest", "[train][batch_plan]") {
  auto plan = BatchPlan{10, 3, 7};
  REQUIRE(plan.steps_per_epoch() == 3);
  auto seen = std::set<std::size_t>{};
  for (std::size_t step = 0; step < 3; ++step)
    for (const auto row : plan.rows_of(step)) {
      CHECK(row < 10);
      CHECK(seen.insert(row).second);
    }
  CHECK(seen.size() == 9);
}

TEST_CASE("The order follows from the seed, whatever was asked before", "[train][batch_plan]") {
  auto forwards = BatchPlan{64, 4, 1};
  auto backwards = BatchPlan{64, 4, 1};
  auto other = BatchPlan{64, 4, 2};
  auto a = std::vector<std::vector<std::size_t>>{};
  auto b = a;
  auto c = a;
  for (std::size_t step = 0; step < 40; ++step) {
    a.push_back(forwards.rows_of(step));
    b.push_back(backwards.rows_of(39 - step));
    c.push_back(other.rows_of(step));
  }
  std::reverse(b.begin(), b.end());
  CHECK(a == b);
  CHECK(a != c);
}

TEST_CASE("Each epoch has an order of its own", "[train][batch_plan]") {
  auto plan = BatchPlan{32, 32, 0};
  const auto first = plan.rows_of(0);
  const auto second = plan.rows_of(1);
  CHECK(first != second);
  CHECK(std::is_permutation(first.begin(), first.end(), second.begin(), second.end()));
}

TEST_CASE("A batch larger than the data is the whole data", "[train][batch_plan]") {
  auto plan = BatchPlan{3, 8, 0};
  CHECK(plan.steps_per_epoch() == 1);
  CHECK(plan.rows_of(5).size() == 3);
}

TEST_CASE("Steps and positions are each other's inverse", "[train][batch_plan]") {
  const auto plan = BatchPlan{10, 3, 0};
  CHECK(plan.position(0) == LoaderPosition{0, 0});
  CHECK(plan.position(7) == LoaderPosition{2, 1});
  for (std::size_t step = 0; step < 20; ++step)
    CHECK(plan.step(plan.position(step)) == step);
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/loss_curve.hpp"

#include "test/catch.hpp"

#include <cmath>
#include <vector>

using tinkaf::cli::loss_curve;

TEST_CASE("A loss curve falls from the top left to the bottom right", "[cli][loss_curve]") {
  const auto losses = std::vector<double>{4, 3, 2, 1, 0};
  CHECK(loss_curve(losses, 40, 5)
        == "  4.000 |*\n"
           "  3.000 | *\n"
           "  2.000 |  *\n"
           "  1.000 |   *\n"
           "  0.000 |    *\n"
           "        +-----\n"
           "         1 step 5\n");
}

TEST_CASE("More steps than columns are drawn as means", "[cli][loss_curve]") {
  auto losses = std::vector<double>(1'000, 2.0);
  const auto text = loss_curve(losses, 49, 3);
  CHECK(text.find("  2.000 |" + std::string(40, '*') + "\n") == 0);
}

TEST_CASE("A loss that is no number leaves a gap", "[cli][loss_curve]") {
  const auto losses = std::vector<double>{1, std::nan(""), 1};
  CHECK(loss_curve(losses, 40, 2).find("  1.000 |* *\n") == 0);
  CHECK(loss_curve({}, 40, 2).empty());
}

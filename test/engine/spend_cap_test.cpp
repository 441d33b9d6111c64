// SPDX-License-Identifier: Apache-2.0
#include "engine/spend_cap.hpp"

#include "test/catch.hpp"

#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

using namespace tinkaf;

namespace {

const Price price{.prefill = 1.0, .train = 2.0};

} // namespace

TEST_CASE("A spend cap takes what fits, to the last token", "[engine][spend_cap]") {
  auto cap = SpendCap::make(2e-5, price).value(); // ten tokens of training
  REQUIRE(cap->reserve({.train = 6}).has_value());
  CHECK_FALSE(cap->reserve({.train = 5}).has_value());
  CHECK(cap->check({.train = 4}).has_value());
  REQUIRE(cap->reserve({.train = 4}).has_value());
  CHECK(cap->reserved() == 2e-5);
  cap->settle({.train = 6});
  CHECK(cap->spent() == 1.2e-5);
  CHECK_FALSE(cap->reserve({.prefill = 1}).has_value());
  cap->release({.train = 4});
  CHECK(cap->reserved() == 0.0);
  CHECK(cap->reserve({.prefill = 8}).has_value());
}

TEST_CASE("A refusal tells what would be spent, and the cap", "[engine][spend_cap][errors]") {
  auto cap = SpendCap::make(1.0, price).value();
  REQUIRE(cap->reserve({.train = 250'000}).has_value());
  auto refused = cap->reserve({.train = 500'000});
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == Errc::invalid_argument);
  CHECK(refused.error().message
        == "1 USD more would make 1.5 USD, above the spend cap of 1 USD; 0 USD are spent and 0.5 "
           "USD under way");
}

TEST_CASE("Under a cap of zero only what costs nothing is let through", "[engine][spend_cap]") {
  auto cap = SpendCap::make(0.0, price).value();
  CHECK(cap->reserve({}).has_value());
  CHECK_FALSE(cap->reserve({.prefill = 1}).has_value());
}

TEST_CASE("A cap that cannot be is named", "[engine][spend_cap][errors]") {
  for (auto limit : {-1.0, static_cast<double>(INFINITY), std::nan("")}) {
    auto cap = SpendCap::make(limit, price);
    REQUIRE_FALSE(cap.has_value());
    CHECK(cap.error().message.find("limit_usd") == 0);
  }
  CHECK(SpendCap::make(1.0, Price{.prefill = std::nan("")}).error().message.find("price.prefill")
        == 0);
}

TEST_CASE("Runs that share a cap never pass it together", "[engine][spend_cap]") {
  auto cap = SpendCap::make(2e-3, price).value(); // a thousand tokens of training
  std::atomic<int> taken = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 500; ++k)
        if (cap->reserve({.train = 1})) {
          ++taken;
          cap->settle({.train = 1});
        }
    });
  for (auto& thread : threads)
    thread.join();
  CHECK(taken == 1000);
}

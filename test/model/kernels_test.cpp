// SPDX-License-Identifier: Apache-2.0
#include "server/model/kernels.hpp"

#include "server/model/thread_pool.hpp"
#include "test/catch.hpp"

#include <atomic>
#include <cmath>
#include <limits>
#include <thread>

using namespace tinkaf::model;

TEST_CASE("the kernels agree with double precision on this machine", "[model]") {
  const auto report = kernels::self_test();
  INFO(report.worst_kernel);
  CHECK(report.worst_error > 0.0);
  CHECK(report.worst_error < kernels::self_test_limit);
}

TEST_CASE("softmax survives extreme scores and shows broken ones", "[model]") {
  std::vector<float> x{-1e30F, 100.0F, 100.0F, 5.0F};
  kernels::causal_softmax(1, 4, 3, x.data(), 4);
  CHECK(x[0] == 0.0F);
  CHECK(x[1] == Catch::Approx(0.5));
  CHECK(x[3] == 0.0F); // outside the causal part
  const std::vector<float> broken{0.0F, std::numeric_limits<float>::quiet_NaN()};
  CHECK(std::isnan(kernels::log_sum_exp(2, broken.data())));
}

TEST_CASE("a pool runs each piece once, also for callers side by side", "[model]") {
  ThreadPool pool{3};
  std::vector<std::atomic<int>> runs(500);
  std::vector<std::thread> callers;
  for (std::size_t c = 0; c < 4; ++c)
    callers.emplace_back([&, c] { pool.run(125, [&](std::size_t i) { ++runs[c * 125 + i]; }); });
  for (auto& caller : callers)
    caller.join();
  for (const auto& x : runs)
    CHECK(x == 1);
}

// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/schedule.hpp"

#include "test/catch.hpp"

#include <map>
#include <set>

using namespace tinkaf::test;

TEST_CASE("A seed draws the same schedule each time, and others draw others", "[chaos]") {
  auto texts = std::set<std::string>{};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto text = to_string(draw_schedule(seed, {}));
    CHECK(text == to_string(draw_schedule(seed, {})));
    texts.insert(text);
  }
  CHECK(texts.size() > 90);
}

TEST_CASE("A scope leaves out kills and faults and changes nothing else", "[chaos]") {
  auto counts = std::map<Blow, int>{};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const auto all = draw_schedule(seed, {});
    const auto network = draw_schedule(seed, {.actors = false, .blows = {}});
    CHECK_FALSE(network.breaks);
    CHECK(network.kills.empty());
    CHECK(network.faults.rate == all.faults.rate);
    CHECK(network.job == all.job);
    const auto server = draw_schedule(seed, {.network = false, .blows = {Blow::server}});
    CHECK(server.faults.rate == 0.0);
    for (const auto& kill : server.kills)
      CHECK(kill.blow == Blow::server);
    for (const auto& kill : all.kills)
      ++counts[kill.blow];
  }
  CHECK(counts[Blow::client] > 30);
  CHECK(counts[Blow::server] > 30);
  CHECK(counts.size() == blows.size());
}

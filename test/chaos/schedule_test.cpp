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
    const auto network = draw_schedule(seed, {.actors = false, .test_mode = false, .blows = {}});
    CHECK_FALSE(network.server.any());
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

TEST_CASE("Every kind of work, and every fault of a server, is drawn", "[chaos]") {
  auto drawn = std::set<Work>{};
  auto options = std::map<std::string, int>{};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto schedule = draw_schedule(seed, {});
    drawn.insert(schedule.job.work);
    for (const auto& word : schedule.server.options())
      if (word.starts_with("--"))
        ++options[word];
  }
  CHECK(drawn.size() == works.size());
  for (const auto* option :
       {"--test-mode", "--fail-operation", "--drop-reply", "--delay-reply", "--reply-delay",
        "--model-wait", "--disk-full-from", "--disk-full-writes"}) {
    CAPTURE(option);
    CHECK(options[option] > 15);
  }
  CHECK(options.size() == 8);
}

TEST_CASE("A sound server gets no options, a troubled one those of its faults", "[chaos]") {
  CHECK(ServerTrouble{}.options().empty());
  const auto trouble = ServerTrouble{.failed_operations = {7, 3}, .disk_full_from = 5};
  CHECK(trouble.options()
        == std::vector<std::string>{"--test-mode", "--fail-operation", "3,7", "--disk-full-from",
                                    "5", "--disk-full-writes", "0"});
}

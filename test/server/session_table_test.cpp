// SPDX-License-Identifier: Apache-2.0
#include "server/session_table.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using tinkaf::server::SessionTable;

TEST_CASE("Sessions end when they are silent", "[server][session]") {
  SessionTable table;
  SessionTable::TimePoint now{1h};
  const auto quiet = table.create(now);
  const auto lively = table.create(now);
  CHECK(quiet != lively);
  now += 200s;
  CHECK(table.touch(lively, now));
  CHECK_FALSE(table.touch("no such session", now));
  now += 100s;
  CHECK(table.silent(now, 300s) == std::vector{quiet});
  table.close(quiet);
  CHECK_FALSE(table.touch(quiet, now));
  CHECK(table.touch(lively, now));
}

TEST_CASE("Numbers of models and samplers are apart and remember who took them",
          "[server][session]") {
  using Kind = SessionTable::Kind;
  SessionTable table;
  const auto id = table.create({});
  CHECK(table.find(id, Kind::model, 0) == nullptr);
  table.claim(id, Kind::model, 0, {"digest", "request"});
  REQUIRE(table.find(id, Kind::model, 0) != nullptr);
  CHECK(table.find(id, Kind::model, 0)->request_id == "request");
  CHECK(table.find(id, Kind::sampler, 0) == nullptr);
  CHECK(SessionTable::id_of("s", Kind::model, 2) == "s:train:2");
  CHECK(SessionTable::id_of("s", Kind::sampler, 0) == "s:sample:0");
}

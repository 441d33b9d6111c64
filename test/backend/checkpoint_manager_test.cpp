// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint_manager.hpp"

#include "test/catch.hpp"
#include "test/engine/engine_data.hpp"
#include "test/engine/scripted_client.hpp"
#include "test/train/temp_folder.hpp"

using namespace tinkaf;
using namespace std::chrono_literals;

namespace {

struct Fixture {
  test::TempFolder temp;
  std::shared_ptr<test::ScriptedClient> client = std::make_shared<test::ScriptedClient>();
  CheckpointFile file = CheckpointFile::open(temp.path()).value();
  std::vector<std::string> removed;
  std::vector<std::string> warnings;
  bool cannot_remove = false;

  CheckpointManager manager(CheckpointPolicy policy) {
    return {client, file, policy,
            [this](const std::string& path) -> Result<void> {
              removed.push_back(path);
              if (cannot_remove)
                return fail(Errc::not_found, "gone");
              return {};
            },
            [this](const Notice& notice) { warnings.push_back(notice.text); }};
  }

  /// Submits a step, as a loop does, and asks the manager.
  void step(CheckpointManager& checkpoints, std::int64_t next) {
    (void)client->submit(SubmitForwardBackward{test::batch_of({1})});
    (void)client->submit(SubmitOptimStep{});
    const auto saved = checkpoints.after_batch({.batch = next, .epoch = 0});
    if (!saved)
      FAIL(saved.error().message);
  }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> result;
    for (const auto& row : file.rows())
      result.push_back(row.name);
    return result;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "A checkpoint's saves are both submitted before either is waited for",
                 "[backend][checkpoints]") {
  const auto saved
      = save_checkpoint(*client, file, "a", {.batch = 4, .epoch = 1}, SaveKind::both, 3600s);
  REQUIRE(saved.has_value());
  CHECK(client->trace == "st1 sv1 ?st1 ?sv1");
  CHECK(*saved
        == CheckpointEntry{.name = "a",
                           .batch = 4,
                           .epoch = 1,
                           .state_path = "tinker://run/state/a",
                           .sampler_path = "tinker://run/a"});
  CHECK(file.rows() == std::vector{*saved});
  CHECK(std::get<SubmitStateSave>(client->requests.at(0)).options.ttl == 3600s);
}

TEST_CASE_METHOD(Fixture, "A checkpoint has what its kind says", "[backend][checkpoints]") {
  const auto state = save_checkpoint(*client, file, "a", {}, SaveKind::state);
  CHECK(state->has("state_path"));
  CHECK_FALSE(state->has("sampler_path"));
  const auto sampler = save_checkpoint(*client, file, "a", {}, SaveKind::sampler);
  CHECK_FALSE(sampler->has("state_path"));
  CHECK(sampler->has("sampler_path"));
  CHECK_FALSE(std::get<SubmitStateSave>(client->requests.at(0)).options.ttl.has_value());
}

TEST_CASE_METHOD(Fixture, "A checkpoint that fails leaves no row and nothing unseen",
                 "[backend][checkpoints][errors]") {
  SECTION("at its saves") {
    client->failing = {"st1"};
    CHECK_FALSE(save_checkpoint(*client, file, "a", {}, SaveKind::both).has_value());
    CHECK(client->trace == "st1 sv1 ?st1! ?sv1");
  }
  SECTION("at its submission") {
    client->refused = {{"sv1", Errc::connection}};
    CHECK_FALSE(save_checkpoint(*client, file, "a", {}, SaveKind::both).has_value());
    CHECK(client->trace == "st1 ! ?st1");
  }
  SECTION("without a path") {
    client->without_paths = true;
    CHECK(save_checkpoint(*client, file, "a", {}, SaveKind::both).error().code
          == Errc::protocol_error);
  }
  CHECK(file.rows().empty());
}

TEST_CASE_METHOD(Fixture,
                 "A save stands directly behind the step that it ends with, and names the "
                 "next batch",
                 "[backend][checkpoints]") {
  auto checkpoints = manager({.save_every = 2});
  for (std::int64_t next = 1; next <= 5; ++next)
    step(checkpoints, next);
  const auto last = checkpoints.finish({.batch = 5, .epoch = 1});
  REQUIRE(last.has_value());
  // Steps in front of a save are those before its batch: nothing of the next one is in it.
  CHECK(client->trace
        == "fb1 o1 fb2 o2 st1 sv1 fb3 o3 fb4 o4 st2 sv2 ?st1 ?sv1 fb5 o5 ?st2 ?sv2 st3 sv3 ?st3 "
           "?sv3");
  CHECK(names() == std::vector<std::string>{"000002", "000004", "final"});
  CHECK(file.rows()[0].batch == 2);
  CHECK(file.rows()[1].batch == 4);
  CHECK(file.rows()[2].batch == 5);
  CHECK(file.rows()[2].final == true);
  CHECK(std::get<SubmitStateSave>(client->requests.at(4)).options.ttl == 604'800s);
  CHECK(run_origin(file.rows()).batch == 5);
}

TEST_CASE_METHOD(Fixture, "Rolling states follow one another and are gone in the end",
                 "[backend][checkpoints]") {
  cannot_remove = GENERATE(false, true);
  auto checkpoints = manager({.save_every = 3, .rolling_save_every = 1});
  for (std::int64_t next = 1; next <= 5; ++next)
    step(checkpoints, next);
  REQUIRE(checkpoints.finish({.batch = 5}).has_value());
  CHECK(names()
        == std::vector<std::string>{"000001-rolling", "000002-rolling", "000003", "000004-rolling",
                                    "000005-rolling", "final"});
  CHECK(file.rows()[0].extra.at("rolling") == "true");
  CHECK_FALSE(file.rows()[0].has("sampler_path"));
  CHECK(removed
        == std::vector<std::string>{
            "tinker://run/state/000001-rolling", "tinker://run/state/000002-rolling",
            "tinker://run/state/000004-rolling", "tinker://run/state/000005-rolling"});
  CHECK(warnings.size() == (cannot_remove ? 4 : 0));
}

TEST_CASE_METHOD(Fixture, "A rolling state that fails stops nothing, a periodic checkpoint does",
                 "[backend][checkpoints][errors]") {
  client->failing = {"st1"};
  SECTION("rolling") {
    auto checkpoints = manager({.rolling_save_every = 1});
    step(checkpoints, 1);
    step(checkpoints, 2);
    REQUIRE(checkpoints.finish({.batch = 2}).has_value());
    CHECK(names() == std::vector<std::string>{"000002-rolling", "final"});
    CHECK(warnings.size() == 1);
  }
  SECTION("periodic") {
    auto checkpoints = manager({.save_every = 1});
    step(checkpoints, 1);
    const auto failed = checkpoints.finish({.batch = 1});
    REQUIRE_FALSE(failed.has_value());
    CHECK(failed.error().message.find("st1") != std::string::npos);
  }
}

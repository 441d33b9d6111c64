// SPDX-License-Identifier: Apache-2.0
#include "server/state_folder.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::server;
using test::read_text;
using test::write_text;

namespace {

struct Fixture {
  Fixture() {
    auto opened = StateFolder::open(folder.path() / "a" / "state");
    REQUIRE(opened.has_value());
    state = std::move(*opened);
  }

  Result<void> put(const std::string& text, CheckpointInfo info = {.base_model = "b"}) {
    return state->put(path, info, [&](const std::filesystem::path& place) -> Result<void> {
      std::filesystem::create_directories(place);
      write_text(place / "file", text);
      return {};
    });
  }

  test::TempFolder folder;
  std::unique_ptr<StateFolder> state;
  TinkerPath path{"s:train:0", CheckpointKind::training, "step-1"};
  StateFolder::Clock::time_point now = StateFolder::Clock::from_time_t(1'000);
};

} // namespace

TEST_CASE_METHOD(Fixture, "A state folder has one server at a time", "[server][state]") {
  const auto second = StateFolder::open(state->dir());
  REQUIRE_FALSE(second.has_value());
  CHECK(second.error().code == Errc::conflict);
  CHECK(second.error().message.find(state->dir().string()) != std::string::npos);
  const auto dir = state->dir();
  state.reset();
  CHECK(StateFolder::open(dir).has_value());
}

TEST_CASE_METHOD(Fixture, "A checkpoint is found with its note, and can be replaced",
                 "[server][state]") {
  CHECK(state->find(path, now).error().code == Errc::not_found);
  REQUIRE(put("one", {.base_model = "b", .lora_config = {.rank = 8, .train_mlp = false}}));
  const auto info = state->info(path, now);
  REQUIRE(info.has_value());
  CHECK(info->base_model == "b");
  CHECK(info->lora_config.rank == 8);
  CHECK_FALSE(info->lora_config.train_mlp);
  REQUIRE(put("two"));
  CHECK(read_text(*state->find(path, now) / "file") == "two");
}

TEST_CASE_METHOD(Fixture, "A save that fails leaves what was there", "[server][state]") {
  REQUIRE(put("one"));
  const auto failed = state->put(path, {}, [](const std::filesystem::path& place) -> Result<void> {
    std::filesystem::create_directories(place);
    write_text(place / "file", "half");
    return fail(Errc::io_error, "No space left on device");
  });
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().message == "No space left on device");
  CHECK(read_text(*state->find(path, now) / "file") == "one");
}

TEST_CASE_METHOD(Fixture, "A checkpoint expires", "[server][state]") {
  REQUIRE(put("one", {.base_model = "b", .created = 1'000, .expires = 1'010}));
  CHECK(state->find(path, now + 9s).has_value());
  CHECK(state->find(path, now + 10s).error().message.find("has expired") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "No path leads out of the folder", "[server][state]") {
  std::filesystem::create_directories(state->dir() / "checkpoints" / "run" / "weights");
  write_text(folder.path() / "a" / "checkpoint.json",
             R"({"base_model":"b","lora_rank":1,"train_unembed":true,"train_mlp":true,)"
             R"("train_attn":true,"created":0})");
  for (const auto& [run, name] :
       std::vector<std::pair<std::string, std::string>>{{"..", ".."},
                                                        {".", ".."},
                                                        {"run", ".."},
                                                        {"run", "."},
                                                        {"../..", "x"},
                                                        {"run", "../x"},
                                                        {"", "x"},
                                                        {"run", ""},
                                                        {std::string("run\0", 4), "x"}})
    CHECK(state->find({run, CheckpointKind::training, name}, now).error().code == Errc::not_found);
  for (const auto* name : {"", ".", "..", "a/b", "a b", "ä"})
    CHECK_FALSE(StateFolder::check_name(name).has_value());
  CHECK_FALSE(StateFolder::check_name(std::string(256, 'a')).has_value());
  CHECK(StateFolder::check_name("Step_1.final-2").has_value());
}

TEST_CASE_METHOD(Fixture, "A damaged note is told by its name", "[server][state]") {
  REQUIRE(put("one"));
  write_text(*state->find(path, now) / "checkpoint.json", "{\"base_model\":");
  const auto info = state->info(path, now);
  REQUIRE_FALSE(info.has_value());
  CHECK(info.error().code == Errc::io_error);
  CHECK(info.error().message.find("checkpoint.json") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "What an earlier server left unfinished is gone", "[server][state]") {
  const auto dir = state->dir();
  state.reset();
  std::filesystem::create_directories(dir / ".tinkaf-scratch" / "checkpoint-1");
  REQUIRE(StateFolder::open(dir).has_value());
  CHECK_FALSE(std::filesystem::exists(dir / ".tinkaf-scratch" / "checkpoint-1"));
}

TEST_CASE("A folder that cannot be made is named", "[server][state]") {
  test::TempFolder folder;
  write_text(folder.path() / "file", "");
  const auto opened = StateFolder::open(folder.path() / "file" / "state");
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().code == Errc::io_error);
  CHECK(opened.error().message.find((folder.path() / "file" / "state").string())
        != std::string::npos);
}

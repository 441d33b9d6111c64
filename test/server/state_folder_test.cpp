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
    return state->put(path, info, [&](const std::filesystem::path& to) -> Result<void> {
      std::filesystem::create_directories(to);
      write_text(to / "file", text);
      return {};
    });
  }

  test::TempFolder folder;
  std::unique_ptr<StateFolder> state;
  TinkerPath path{"s:train:0", CheckpointKind::training, "step-1"};
  std::filesystem::path place
      = folder.path() / "a" / "state" / "checkpoints" / "s:train:0" / "weights" / "step-1";
  Timestamp now{1'000s};
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
  CHECK(state->pin(path, now).error().code == Errc::not_found);
  REQUIRE(put("one", {.base_model = "b", .lora_config = {.rank = 8, .train_mlp = false}}));
  const auto info = state->info(path, now);
  REQUIRE(info.has_value());
  CHECK(info->base_model == "b");
  CHECK(info->lora_config.rank == 8);
  CHECK_FALSE(info->lora_config.train_mlp);
  REQUIRE(put("two"));
  CHECK(read_text(**state->pin(path, now) / "file") == "two");
}

TEST_CASE_METHOD(Fixture, "A save that fails leaves what was there", "[server][state]") {
  REQUIRE(put("one"));
  const auto failed = state->put(path, {}, [](const std::filesystem::path& to) -> Result<void> {
    std::filesystem::create_directories(to);
    write_text(to / "file", "half");
    return fail(Errc::io_error, "No space left on device");
  });
  REQUIRE_FALSE(failed.has_value());
  CHECK(failed.error().message == "No space left on device");
  CHECK(read_text(**state->pin(path, now) / "file") == "one");
}

TEST_CASE_METHOD(Fixture, "A checkpoint expires", "[server][state]") {
  REQUIRE(put("one", {.base_model = "b", .created = now, .expires = now + 10s}));
  CHECK(state->info(path, now + 9s).has_value());
  CHECK(state->pin(path, now + 9s).has_value());
  CHECK(state->pin(path, now + 10s).error().code == Errc::not_found);
  CHECK(state->info(path, now + 10s).error().message.find("has expired") != std::string::npos);
}

TEST_CASE_METHOD(Fixture, "Pinned weights stay until the last holder lets go", "[server][state]") {
  REQUIRE(put("one"));
  auto first = state->pin(path, now).value();
  CHECK(state->pin(path, now).value() == first); // shared
  REQUIRE(put("two"));
  auto second = state->pin(path, now).value();
  REQUIRE(state->remove(path, now));
  CHECK_FALSE(std::filesystem::exists(place));
  CHECK(state->remove(path, now).error().code == Errc::not_found);
  CHECK(read_text(*first / "file") == "one");
  CHECK(read_text(*second / "file") == "two");
  const auto folder_of_first = *first;
  first.reset();
  CHECK_FALSE(std::filesystem::exists(folder_of_first));
  CHECK(read_text(*second / "file") == "two");
}

TEST_CASE_METHOD(Fixture, "Checkpoints are listed, newest first, with their size",
                 "[server][state]") {
  REQUIRE(put("one", {.base_model = "b", .created = now}));
  const auto old = path;
  path.name = "step-2";
  REQUIRE(put("three", {.base_model = "b", .created = now + 1us}));
  path = {"other", CheckpointKind::sampler, "step-1"};
  REQUIRE(put("1", {.base_model = "b", .created = now - 1s}));
  const auto listed = [&](const std::optional<std::string>& run) {
    std::vector<std::string> out;
    for (const auto& x : state->list(now, run).checkpoints)
      out.push_back(x.path.str() + " " + std::to_string(x.size_bytes));
    return out;
  };
  const std::vector<std::string> own{"tinker://s:train:0/weights/step-2 5",
                                     "tinker://s:train:0/weights/step-1 3"};
  CHECK(listed(old.training_run_id) == own);
  CHECK(listed({})
        == std::vector<std::string>{own[0], own[1], "tinker://other/sampler_weights/step-1 1"});
  CHECK(listed("nobody").empty());

  write_text(place / "checkpoint.json", "?");
  const auto all = state->list(now);
  CHECK(all.checkpoints.size() == 2);
  CHECK(all.damaged.at("s:train:0").find("checkpoint.json") != std::string::npos);
  CHECK(state->remove(old, now).has_value());
}

TEST_CASE_METHOD(Fixture, "What has expired is freed, and a change of the note is no copy",
                 "[server][state]") {
  REQUIRE(put("one", {.base_model = "b", .created = now}));
  const auto id_of = [&] { return std::filesystem::last_write_time(place / "file"); };
  const auto before = id_of();
  REQUIRE(state->change(path, now, [&](CheckpointInfo& x) -> Result<void> {
    x.expires = now + 10s;
    return {};
  }));
  CHECK(id_of() == before);
  CHECK(state->free_expired(now + 9s) == 0);
  CHECK(state->free_expired(now + 10s) == 1);
  CHECK_FALSE(std::filesystem::exists(place / "file"));
  CHECK(state->free_expired(now + 10s) == 0);
  CHECK(state->info(path, now + 10s).error().message.find("has expired") != std::string::npos);
  (void)state->free_expired(now + std::chrono::days{31});
  CHECK_FALSE(std::filesystem::exists(place));
}

TEST_CASE_METHOD(Fixture, "A note of seconds since 1970 is read", "[server][state]") {
  REQUIRE(put("one"));
  write_text(place / "checkpoint.json",
             R"({"base_model":"b","lora_rank":1,"train_unembed":true,"train_mlp":true,)"
             R"("train_attn":true,"created":990,"expires":1001})");
  const auto info = state->info(path, now);
  REQUIRE(info.has_value());
  CHECK(info->created == now - 10s);
  CHECK(info->expires == now + 1s);
  CHECK(read_text(**state->pin(path, now) / "file") == "one");
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
    CHECK(state->info({run, CheckpointKind::training, name}, now).error().code == Errc::not_found);
  for (const auto* name : {"", ".", "..", "a/b", "a b", "ä"})
    CHECK_FALSE(StateFolder::check_name(name).has_value());
  CHECK_FALSE(StateFolder::check_name(std::string(256, 'a')).has_value());
  CHECK(StateFolder::check_name("Step_1.final-2").has_value());
}

TEST_CASE_METHOD(Fixture, "A damaged note is told by its name", "[server][state]") {
  REQUIRE(put("one"));
  write_text(place / "checkpoint.json", "{\"base_model\":");
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

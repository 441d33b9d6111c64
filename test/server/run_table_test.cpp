// SPDX-License-Identifier: Apache-2.0
#include "server/run_table.hpp"

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
    reopen();
  }

  void reopen(Timestamp at = Timestamp{1'000s}) {
    table.reset();
    state.reset();
    state = StateFolder::open(folder.path() / "state").value();
    table = std::make_unique<RunTable>(*state, at);
  }

  [[nodiscard]] std::filesystem::path file(const std::string& id) const {
    return folder.path() / "state" / "checkpoints" / id / "run.json";
  }

  RunRecord record(const std::string& id, Timestamp last_request) {
    return {.id = id,
            .session_id = "s",
            .base_model = "b",
            .lora_config = {.rank = 8, .train_mlp = false},
            .user_metadata = {{"team", "red"}},
            .last_request = last_request};
  }

  [[nodiscard]] std::vector<std::string> ids() const {
    std::vector<std::string> out;
    for (const auto& run : table->list())
      out.push_back(run.id);
    return out;
  }

  test::TempFolder folder;
  std::unique_ptr<StateFolder> state;
  std::unique_ptr<RunTable> table;
  Timestamp now{1'000s};
};

} // namespace

TEST_CASE_METHOD(Fixture, "Runs outlive the table, newest activity first", "[server][runs]") {
  table->add(record("s:train:0", now));
  table->add(record("s:train:1", now + 1s));
  CHECK(ids() == std::vector<std::string>{"s:train:1", "s:train:0"});
  table->note_request("s:train:0", now + 2s);
  table->note_request("nobody", now);
  CHECK(ids() == std::vector<std::string>{"s:train:0", "s:train:1"});
  table->move("s", "project");
  table->note_damage("s:train:1", "broke");
  reopen();
  CHECK(ids() == std::vector<std::string>{"s:train:0", "s:train:1"});
  const auto run = table->find("s:train:0");
  REQUIRE(run.has_value());
  CHECK(run->last_request == now + 2s);
  CHECK(run->lora_config.rank == 8);
  CHECK_FALSE(run->lora_config.train_mlp);
  CHECK(run->user_metadata.at("team") == "red");
  CHECK(run->project_id == "project");
  CHECK_FALSE(run->damage.has_value());
  CHECK(table->find("s:train:1")->damage == "broke");
  CHECK_FALSE(table->find("nobody").has_value());
}

TEST_CASE_METHOD(Fixture, "A damaged record is a run with the reason, and is left alone",
                 "[server][runs]") {
  for (const auto* id : {"good", "cut", "forged", "gone"})
    table->add(record(id, now));
  REQUIRE(state->put({"gone", CheckpointKind::training, "a"},
                     {.base_model = "b2", .lora_config = {.rank = 4}, .created = now - 5s},
                     [](const std::filesystem::path& place) -> Result<void> {
                       std::filesystem::create_directories(place);
                       return {};
                     }));
  const auto cut = read_text(file("cut")).substr(0, 30);
  write_text(file("cut"), cut);
  write_text(file("forged"), read_text(file("good")));
  std::filesystem::remove(file("gone"));
  reopen();
  CHECK_FALSE(table->find("good")->damage.has_value());
  CHECK(table->find("cut")->damage.value().starts_with("the record of the run is damaged: "));
  CHECK(table->find("forged")->damage.value().find("belongs to the run `good`")
        != std::string::npos);
  const auto gone = table->find("gone");
  REQUIRE(gone.has_value());
  CHECK(gone->damage.has_value());
  CHECK(gone->base_model == "b2");
  CHECK(gone->lora_config.rank == 4);
  CHECK(gone->last_request == now - 5s);
  table->move("s", "project");
  table->note_request("cut", now + 1s);
  table->store_all();
  CHECK(read_text(file("cut")) == cut);
}

TEST_CASE_METHOD(Fixture, "An old run without a checkpoint is forgotten", "[server][runs]") {
  table->add(record("empty", now));
  table->add(record("full", now));
  REQUIRE(state->put({"full", CheckpointKind::training, "a"}, {.base_model = "b", .created = now},
                     [](const std::filesystem::path& place) -> Result<void> {
                       std::filesystem::create_directories(place);
                       return {};
                     }));
  reopen(now + std::chrono::days{29});
  CHECK(ids().size() == 2);
  reopen(now + std::chrono::days{31});
  CHECK(ids() == std::vector<std::string>{"full"});
  CHECK_FALSE(std::filesystem::exists(file("empty")));
}

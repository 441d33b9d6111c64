// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <atomic>
#include <thread>

#include "train/step_samples.hpp"
#include <sqlite3.h>

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

const JobIdentity identity{{"--steps", "20"}};

StepRow row(std::size_t step) {
  auto result = StepRow{};
  result.step = step;
  result.columns.emplace_back("train_mean_nll", 1.5 - static_cast<double>(step));
  return result;
}

} // namespace

TEST_CASE("A run that wrote nothing leaves no folder behind", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  {
    auto folder = RunFolder::open(temp.path() / "a" / "b", identity);
    REQUIRE(folder);
    REQUIRE(folder->write_config("{}"));
    CHECK(std::filesystem::exists(temp.path() / "a" / "b" / "config.json"));
  }
  CHECK(std::filesystem::is_empty(temp.path()));
}

TEST_CASE("Rows of metrics and checkpoints stay", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  const auto run = temp.path() / "run";
  {
    auto folder = RunFolder::open(run / "", identity);
    REQUIRE(folder);
    REQUIRE(folder->write_config(R"({"seed":1})"));
    REQUIRE(folder->settle(StepRow{}, 2));
    REQUIRE(folder->settle(CheckpointRow{"final", 20, 2, true, "tinker://r/weights/final",
                                         "tinker://r/sampler_weights/final"},
                           2));
  }
  CHECK(test::read_text(run / "config.json") == "{\"seed\":1}\n");
  CHECK(test::read_text(run / "metrics.jsonl").find("{\"step\":0,") == 0);
  CHECK(test::read_text(run / "checkpoints.jsonl")
        == R"({"name":"final","batch":20,"epoch":2,"final":true,)"
           R"("state_path":"tinker://r/weights/final",)"
           R"("sampler_path":"tinker://r/sampler_weights/final"})"
           "\n");
}

TEST_CASE("A folder that holds a run without a journal is not written to", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  test::write_text(temp.path() / "metrics.jsonl", "{}\n");
  const auto* const journal = GENERATE("no", "an empty", "a new");
  if (journal == std::string{"an empty"})
    test::write_text(temp.path() / "journal.sqlite", "");
  if (journal == std::string{"a new"})
    REQUIRE(JobJournal::open(temp.path() / "journal.sqlite", identity));
  CAPTURE(journal);
  const auto folder = RunFolder::open(temp.path(), identity);
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Errc::conflict);
  CHECK(folder.error().message.find(temp.path().string()) != std::string::npos);
  CHECK(test::read_text(temp.path() / "metrics.jsonl") == "{}\n");
  CHECK(std::filesystem::exists(temp.path() / "journal.sqlite") == (journal != std::string{"no"}));
}

TEST_CASE("A folder that cannot be made is named with the reason", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  test::write_text(temp.path() / "file", "");
  const auto folder = RunFolder::open(temp.path() / "file" / "run", identity);
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Errc::io_error);
  CHECK(folder.error().message.find((temp.path() / "file").string() + ": ") != std::string::npos);
}

TEST_CASE("A run is there again when its folder is opened again", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  {
    auto folder = RunFolder::open(temp.path(), identity);
    REQUIRE(folder->settle(row(0), 2));
    REQUIRE(folder->settle(row(1), 2));
    REQUIRE(
        folder->settle(CheckpointRow{"step_2", 2, 0, false, "tinker://r/weights/step_2", ""}, 1));
  }
  auto folder = RunFolder::open(temp.path(), identity);
  REQUIRE(folder);
  CHECK(folder->headlines() == std::vector<double>{1.5, 0.5});
  REQUIRE(folder->checkpoints().size() == 1);
  CHECK(folder->checkpoints().front()
        == CheckpointRow{"step_2", 2, 0, false, "tinker://r/weights/step_2", ""});
}

TEST_CASE("Files that tell another story than the journal are made anew", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  REQUIRE(RunFolder::open(temp.path(), identity)->settle(row(0), 2));
  const auto metrics = test::read_text(temp.path() / "metrics.jsonl");
  const auto spoilt = GENERATE(as<std::string>{}, "", "{\"step\":0", "ROW{\"step\":1}\n{\"st");
  INFO(spoilt);
  test::write_text(temp.path() / "metrics.jsonl",
                   spoilt.starts_with("ROW") ? metrics + spoilt.substr(3) : spoilt);
  auto folder = RunFolder::open(temp.path(), identity);
  REQUIRE(folder);
  CHECK(test::read_text(temp.path() / "metrics.jsonl") == metrics);
  REQUIRE(folder->settle(row(1), 2));
  CHECK(test::read_text(temp.path() / "metrics.jsonl") == metrics + to_json(row(1)) + "\n");
}

TEST_CASE("Rows beyond the checkpoint that a run goes back to are dropped", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  auto folder = RunFolder::open(temp.path(), identity);
  for (std::size_t step : {0, 1, 2})
    REQUIRE(folder->settle(row(step), 2));
  REQUIRE(folder->settle(CheckpointRow{"step_1", 1, 0, false, "tinker://r/weights/step_1", ""}, 1));
  REQUIRE(folder->settle(CheckpointRow{"step_3", 3, 0, false, "tinker://r/weights/step_3", ""}, 1));
  REQUIRE(folder->forget(folder->checkpoints().back()));
  REQUIRE(folder->begin({{"session-2", 0, 0}, {}, 1, "tinker://r/weights/step_1"}));
  CHECK(folder->headlines() == std::vector<double>{1.5});
  CHECK(test::read_text(temp.path() / "metrics.jsonl") == to_json(row(0)) + "\n");
  CHECK(folder->checkpoints().size() == 1);
}

TEST_CASE("Samples for steps behind one that is not settled are not gone on from",
          "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  auto folder = RunFolder::open(temp.path(), identity);
  REQUIRE(folder->settle(row(0), 2));
  {
    auto samples = SampleFile::open(temp.path());
    for (const std::size_t step : {0, 1, 2})
      REQUIRE(samples->add({.step = step, .answers = {}, .scores = {}}));
  }
  // Step 1 was under way, and it may be that it has failed; those for step 2 are of what it left.
  REQUIRE(folder->begin({{"session-2", 0, 0}, {}, 0, {}}));
  const auto samples = SampleFile::open(temp.path());
  CHECK(samples->has(0));
  CHECK(samples->has(1));
  CHECK_FALSE(samples->has(2));
}

TEST_CASE("A folder whose journal another run is about to make is refused, and the journal stays",
          "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  const auto file = temp.path() / "journal.sqlite";
  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  REQUIRE(std::filesystem::file_size(file) == 0);
  const auto folder = RunFolder::open(temp.path(), identity);
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Errc::conflict);
  CHECK(std::filesystem::exists(file));
  sqlite3_close(other);
}

TEST_CASE("A folder that another run works on is refused", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  auto first = RunFolder::open(temp.path(), identity);
  REQUIRE(first);
  auto second = RunFolder::open(temp.path(), identity);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::conflict);
  CHECK(std::filesystem::exists(temp.path() / "journal.sqlite"));
}

TEST_CASE("A folder that one run takes away is none that another goes on with",
          "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  const auto path = temp.path() / "run";
  auto lost = std::atomic<int>{0};
  auto opened = std::atomic<int>{0};
  const auto open_often = [&] {
    for (auto times = 0; times < 500; ++times) {
      const auto folder = RunFolder::open(path, identity); // which nothing happens in
      opened += folder ? 1 : 0;
      lost += folder && !std::filesystem::exists(path / "journal.sqlite") ? 1 : 0;
    }
  };
  auto other = std::thread{open_often};
  open_often();
  other.join();
  CHECK(opened > 0);
  CHECK(lost == 0);
}

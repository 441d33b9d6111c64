// SPDX-License-Identifier: Apache-2.0
#include "journal/job_journal.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace tinkaf {

namespace {

using test::TempFolder;

const JobIdentity identity{{"--model", "tiny"}, {"--steps", "100"}};

NumberedTurn turn(std::vector<std::int64_t> numbers, RequestType type = RequestType::optim_step) {
  NumberedTurn result;
  for (auto number : numbers)
    result.push_back({.seq_id = number, .type = type});
  return result;
}

std::unique_ptr<JobJournal> open(const TempFolder& folder) {
  auto journal = JobJournal::open(folder.path() / "journal", identity);
  REQUIRE(journal);
  return std::move(*journal);
}

/// A journal with a model that is ready.
std::unique_ptr<JobJournal> begun(const TempFolder& folder) {
  auto journal = open(folder);
  REQUIRE(journal->begin({.session = {"session-1", 0, 0}}));
  REQUIRE(journal->ready({"session-1", 1, 0}, "model-1"));
  return journal;
}

} // namespace

TEST_CASE("A new journal knows of nothing", "[journal]") {
  TempFolder folder;
  auto journal = open(folder);
  CHECK_FALSE(journal->attempt()->has_value());
  CHECK(journal->steps()->empty());
  CHECK(journal->checkpoints()->empty());
  CHECK_FALSE(*journal->finished());
}

TEST_CASE("What a journal was told is there when it is opened again", "[journal]") {
  TempFolder folder;
  {
    auto journal = begun(folder);
    REQUIRE(journal->settle(JobStep{0, 0, 0, "row 0"}, 0));
    REQUIRE(journal->settle(JobCheckpoint{1, "tinker://m/weights/a", "checkpoint a"}, 0));
    REQUIRE(journal->note(turn({1, 2}, RequestType::forward_backward)));
    REQUIRE(journal->note({{.seq_id = 3,
                            .type = RequestType::save_weights_for_sampler,
                            .sampling_session_seq_id = 4}}));
    REQUIRE(journal->accepted(2, {"request-2", "model-1"}));
  }
  auto journal = open(folder);
  auto attempt = journal->attempt();
  REQUIRE(attempt);
  REQUIRE(attempt->has_value());
  CHECK((*attempt)->session == SessionRecord{"session-1", 1, 0});
  CHECK((*attempt)->model_id == "model-1");
  auto attach = journal->attach();
  REQUIRE(attach);
  CHECK(attach->model_id == "model-1");
  CHECK(attach->next_seq_id == 4);
  REQUIRE(attach->open.size() == 2);
  CHECK(attach->open[0]
        == NumberedTurn{{.seq_id = 1, .type = RequestType::forward_backward},
                        {.seq_id = 2,
                         .type = RequestType::forward_backward,
                         .accepted = FutureRef{"request-2", "model-1"}}});
  CHECK(attach->open[1]
        == NumberedTurn{{.seq_id = 3,
                         .type = RequestType::save_weights_for_sampler,
                         .sampling_session_seq_id = 4}});
  REQUIRE(journal->steps()->size() == 1);
  CHECK(journal->steps()->front().row == "row 0");
  REQUIRE(journal->checkpoints()->size() == 1);
  CHECK(journal->checkpoints()->front().state_path == "tinker://m/weights/a");
}

TEST_CASE("A settled step takes its operations out, oldest first", "[journal]") {
  TempFolder folder;
  auto journal = begun(folder);
  for (std::int64_t number : {1, 2, 3, 4})
    REQUIRE(journal->note(turn({number})));
  REQUIRE(journal->settle(JobStep{0, 0, 0, "row"}, 2));
  auto attach = journal->attach();
  REQUIRE(attach);
  REQUIRE(attach->open.size() == 2);
  CHECK(attach->open[0] == turn({3}));
  CHECK(attach->next_seq_id == 5);
}

TEST_CASE("A number that is noted again belongs to the later turn, and those above are free",
          "[journal]") {
  TempFolder folder;
  auto journal = begun(folder);
  REQUIRE(journal->note(turn({1, 2, 3}, RequestType::forward_backward)));
  REQUIRE(journal->note(turn({2})));
  auto attach = journal->attach();
  REQUIRE(attach);
  REQUIRE(attach->open.size() == 2);
  CHECK(attach->open[0] == turn({1}, RequestType::forward_backward));
  CHECK(attach->open[1] == turn({2}));
  CHECK(attach->next_seq_id == 3);
}

TEST_CASE("What made the model is no operation of the job", "[journal]") {
  TempFolder folder;
  auto journal = open(folder);
  REQUIRE(
      journal->begin({.session = {"session-1", 0, 0}, .restored_from = "tinker://m/weights/a"}));
  REQUIRE(journal->note(turn({1}, RequestType::load_weights)));
  REQUIRE(journal->ready({"session-1", 1, 0}, "model-2"));
  auto attach = journal->attach();
  REQUIRE(attach);
  CHECK(attach->open.empty());
  CHECK(attach->next_seq_id == 2);
}

TEST_CASE("An attempt from a checkpoint forgets what lies behind it", "[journal]") {
  TempFolder folder;
  auto journal = begun(folder);
  for (std::size_t step : {0, 1, 2, 3})
    REQUIRE(journal->settle(JobStep{step, 0, step, "row " + std::to_string(step)}, 0));
  REQUIRE(journal->settle(JobCheckpoint{2, "tinker://m/weights/b", "b"}, 0));
  REQUIRE(journal->settle(JobCheckpoint{4, "tinker://m/weights/d", "d"}, 0));
  REQUIRE(journal->note(turn({1})));
  REQUIRE(journal->begin(
      {.session = {"session-2", 0, 0}, .first_step = 2, .restored_from = "tinker://m/weights/b"}));
  auto steps = journal->steps();
  REQUIRE(steps->size() == 2);
  CHECK(steps->back().row == "row 1");
  REQUIRE(journal->checkpoints()->size() == 1);
  CHECK(journal->checkpoints()->front().state_path == "tinker://m/weights/b");
  auto attach = journal->attach();
  CHECK(attach->open.empty());
  CHECK(attach->model_id.empty());
  CHECK(attach->next_seq_id == 1);
}

TEST_CASE("A step is settled once", "[journal]") {
  TempFolder folder;
  auto journal = begun(folder);
  REQUIRE(journal->note(turn({1})));
  REQUIRE(journal->settle(JobStep{0, 0, 0, "row"}, 0));
  CHECK_FALSE(journal->settle(JobStep{0, 0, 0, "another"}, 1));
  CHECK(journal->steps()->front().row == "row");
  CHECK(journal->attach()->open.size() == 1);
}

TEST_CASE("A job that has ended says so when it is opened again", "[journal]") {
  TempFolder folder;
  {
    auto journal = begun(folder);
    REQUIRE(journal->finish());
  }
  CHECK(*open(folder)->finished());
}

TEST_CASE("Whose job a journal is, is told without knowing it once that has ended", "[journal]") {
  TempFolder folder;
  const auto file = folder.path() / "journal";
  const auto asked = [&] {
    const auto job = JobJournal::finished_job(file);
    REQUIRE(job);
    return *job;
  };
  SECTION("but not where there is no journal, and none is made") {
    CHECK_FALSE(asked());
    CHECK(std::filesystem::is_empty(folder.path()));
  }
  SECTION("but not before") {
    (void)begun(folder);
    CHECK_FALSE(asked());
  }
  SECTION("then") {
    REQUIRE(begun(folder)->finish());
    const auto job = asked();
    REQUIRE(job);
    REQUIRE(job->size() == identity.size());
    for (std::size_t i = 0; i < identity.size(); ++i) {
      CHECK((*job)[i].name == identity[i].name);
      CHECK((*job)[i].value == identity[i].value);
    }
  }
  SECTION("but not while somebody has it") {
    const auto held = begun(folder);
    REQUIRE(held->finish());
    const auto job = JobJournal::finished_job(file);
    REQUIRE_FALSE(job);
    CHECK(job.error().code == Errc::conflict);
  }
  SECTION("but not where the file is another") {
    test::write_text(file, std::string(5'000, 'x'));
    CHECK_FALSE(JobJournal::finished_job(file));
    CHECK(test::read_text(file) == std::string(5'000, 'x'));
  }
}

} // namespace tinkaf

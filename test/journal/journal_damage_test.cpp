// SPDX-License-Identifier: Apache-2.0
#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <set>
#include <string>

#include "journal/job_journal.hpp"
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tinkaf {

namespace {

using test::TempFolder;

const JobIdentity identity{{"--model", "tiny"}, {"--steps", "100"}};

bool mentions(const Error& error, const std::string& text) {
  return error.message.find(text) != std::string::npos;
}

void run_sql(const std::filesystem::path& file, const char* sql) {
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &database) == SQLITE_OK);
  CHECK(sqlite3_exec(database, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
}

} // namespace

TEST_CASE("A second holder of a journal is refused", "[journal]") {
  TempFolder folder;
  auto file = folder.path() / "journal";
  auto first = JobJournal::open(file, identity);
  REQUIRE(first);
  auto second = JobJournal::open(file, identity);
  REQUIRE_FALSE(second);
  CHECK(second.error().code == Errc::conflict);
  CHECK(mentions(second.error(), file.string()));
  first->reset();
  CHECK(JobJournal::open(file, identity));
}

TEST_CASE("The journal of another job is refused by the first thing that differs", "[journal]") {
  TempFolder folder;
  auto file = folder.path() / "journal";
  REQUIRE(JobJournal::open(file, identity));
  for (const auto& [other, named] : std::vector<std::pair<JobIdentity, std::string>>{
           {{{"--model", "tiny"}, {"--steps", "200"}}, "--steps is 100, but 200 is asked for"},
           {{{"--model", "tiny"}}, "--steps is 100, but none is asked for"},
           {{{"--model", "tiny"}, {"--steps", "100"}, {"--lr", "1"}},
            "--lr is not set, but 1 is asked for"}}) {
    auto journal = JobJournal::open(file, other);
    REQUIRE_FALSE(journal);
    CHECK(journal.error().code == Errc::conflict);
    CHECK(mentions(journal.error(), named));
  }
}

TEST_CASE("What is no journal is refused and left as it is", "[journal]") {
  TempFolder folder;
  auto file = folder.path() / "journal";
  SECTION("a text") {
    test::write_text(file, std::string(5'000, 'x'));
    auto journal = JobJournal::open(file, identity);
    REQUIRE_FALSE(journal);
    CHECK(mentions(journal.error(), "is no journal of a job"));
    CHECK(test::read_text(file) == std::string(5'000, 'x'));
  }
  SECTION("a database of others") {
    run_sql(file, "CREATE TABLE other(x); INSERT INTO other VALUES (1)");
    auto before = test::read_text(file);
    auto journal = JobJournal::open(file, identity);
    REQUIRE_FALSE(journal);
    CHECK(mentions(journal.error(), "is a database, but no journal of a job"));
    CHECK(test::read_text(file) == before);
  }
  SECTION("a journal of a later release") {
    REQUIRE(JobJournal::open(file, identity));
    run_sql(file, "PRAGMA user_version = 3");
    auto journal = JobJournal::open(file, identity);
    REQUIRE_FALSE(journal);
    CHECK(mentions(journal.error(), "is of version 3"));
  }
}

TEST_CASE("A journal with any page spoiled is refused and left as it is", "[journal]") {
  TempFolder folder;
  auto file = folder.path() / "journal";
  {
    auto journal = JobJournal::open(file, identity);
    REQUIRE(journal);
    REQUIRE((*journal)->begin({.session = {"session-1", 0, 0}}));
    for (std::int64_t number = 1; number <= 300; ++number)
      REQUIRE((*journal)->note({{.seq_id = number}}));
  }
  const auto whole = test::read_text(file);
  constexpr std::size_t page = 4'096;
  REQUIRE(whole.size() > 8 * page);
  for (std::size_t at = 0; at < whole.size(); at += page) {
    auto spoiled = whole;
    spoiled.replace(at, page, page, '\xa5');
    test::write_text(file, spoiled);
    const auto journal = JobJournal::open(file, identity);
    INFO("page " << at / page);
    REQUIRE_FALSE(journal);
    CHECK(mentions(journal.error(), file.string()));
    CHECK(journal.error().code == Errc::io_error);
    CHECK(test::read_text(file) == spoiled);
  }
  auto cut = whole.substr(0, whole.size() - page);
  test::write_text(file, cut);
  CHECK_FALSE(JobJournal::open(file, identity));
  CHECK(test::read_text(file) == cut);
}

TEST_CASE("A journal with any byte changed is refused, or tells the same", "[journal]") {
  TempFolder folder;
  auto file = folder.path() / "journal";
  {
    auto journal = JobJournal::open(file, identity);
    REQUIRE(journal);
    REQUIRE((*journal)->begin({.session = {"session-1", 0, 0}}));
    REQUIRE((*journal)->ready({"session-1", 1, 1}, "model-1"));
    for (std::int64_t number = 1; number <= 20; ++number)
      REQUIRE((*journal)->note({{.seq_id = number}}));
    REQUIRE((*journal)->accepted(20, {"request-20", "model-1"}));
    for (std::size_t step = 0; step < 8; ++step)
      REQUIRE((*journal)->settle(JobStep{step, 0, step, R"({"loss":1.5})"}, 2));
    REQUIRE((*journal)->settle(JobCheckpoint{8, "tinker://a/weights/b", "{}"}, 1));
  }
  // Empty where it is refused.
  const auto told = [&]() -> std::string {
    const auto journal = JobJournal::open(file, identity);
    if (!journal) {
      CHECK(mentions(journal.error(), file.string()));
      return {};
    }
    const auto attempt = (*journal)->attempt();
    const auto attach = (*journal)->attach();
    const auto steps = (*journal)->steps();
    const auto checkpoints = (*journal)->checkpoints();
    if (!attempt || !*attempt || !attach || !steps || !checkpoints)
      return {};
    auto text = fmt::format("{} {} {} {} {} {}", (*attempt)->session.session_id,
                            (*attempt)->session.next_model_seq_id,
                            (*attempt)->session.next_sampling_session_seq_id, (*attempt)->model_id,
                            (*attempt)->first_step, attach->next_seq_id);
    for (const auto& turn : attach->open)
      for (const auto& request : turn)
        text += fmt::format(" {} {} {}", request.seq_id, to_string(request.type),
                            request.accepted ? request.accepted->request_id : "");
    for (const auto& step : *steps)
      text += fmt::format(" {} {} {} {}", step.step, step.epoch, step.batch, step.row);
    for (const auto& checkpoint : *checkpoints)
      text += fmt::format(" {} {} {}", checkpoint.next_step, checkpoint.state_path, checkpoint.row);
    return text;
  };
  const auto whole = test::read_text(file);
  const auto expected = told();
  REQUIRE_FALSE(expected.empty());
  auto refused = 0;
  auto same = 0;
  constexpr std::size_t stride = 29; // meets each offset within a page
  for (std::size_t at = 0; at < whole.size(); at += stride) {
    auto changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x04);
    test::write_text(file, changed);
    const auto found = told();
    CAPTURE(at);
    CHECK((found.empty() || found == expected));
    ++(found.empty() ? refused : same);
  }
  CHECK(refused > 50);
  CHECK(same > 0);
}

TEST_CASE("A journal's name is the name of a file, whatever it looks like", "[journal]") {
  TempFolder folder;
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  for (const auto* name : {":memory:", "file:a", "file:b?mode=memory"}) {
    CAPTURE(name);
    CHECK(JobJournal::open(name, identity));
    CHECK(std::filesystem::exists(folder.path() / name));
  }
  std::filesystem::current_path(before);
}

TEST_CASE("A journal in a missing folder names the file", "[journal]") {
  TempFolder folder;
  auto file = folder.path() / "missing" / "journal";
  auto journal = JobJournal::open(file, identity);
  REQUIRE_FALSE(journal);
  CHECK(journal.error().code == Errc::io_error);
  CHECK(mentions(journal.error(), file.string()));
  CHECK(mentions(journal.error(), "No such file or directory"));
}

TEST_CASE("A log that breaks off anywhere leaves a journal of whole entries", "[journal]") {
  TempFolder folder;
  auto file = folder.path() / "journal";
  auto log = file.string() + "-wal";
  constexpr std::int64_t count = 20;
  auto whole = std::string{};
  auto base = std::string{};
  {
    auto journal = JobJournal::open(file, identity);
    REQUIRE(journal);
    REQUIRE((*journal)->begin({.session = {"session-1", 0, 0}}));
    for (std::int64_t number = 1; number <= count; ++number)
      REQUIRE((*journal)->note({{.seq_id = number}}));
    whole = test::read_text(log); // what a killed process leaves behind
    base = test::read_text(file);
  }
  constexpr std::size_t header = 32;
  constexpr std::size_t frame = 24 + 4'096;
  REQUIRE(whole.size() > header + count * frame);
  auto seen = std::set<std::size_t>{};
  for (std::size_t length = 0; length <= whole.size(); length += frame / 3) {
    test::write_text(file, base);
    test::write_text(log, std::string_view{whole}.substr(0, length));
    auto journal = JobJournal::open(file, identity);
    REQUIRE(journal);
    auto attempt = (*journal)->attempt();
    REQUIRE(attempt);
    if (!attempt->has_value())
      continue; // broken off before anything began
    auto attach = (*journal)->attach();
    REQUIRE(attach);
    auto open = attach->open.size();
    seen.insert(open);
    CHECK(attach->next_seq_id == static_cast<std::int64_t>(open) + 1);
    for (std::size_t i = 0; i < open; ++i)
      CHECK(attach->open[i] == NumberedTurn{{.seq_id = static_cast<std::int64_t>(i) + 1}});
    // It goes on from there.
    CHECK((*journal)->note({{.seq_id = attach->next_seq_id}}));
  }
  CHECK(seen.size() > count / 2);
}

TEST_CASE("A full disk fails the note and spares the journal", "[journal]") {
  TempFolder folder;
  auto file = folder.path() / "journal";
  {
    auto journal = JobJournal::open(file, identity);
    REQUIRE(journal);
    REQUIRE((*journal)->begin({.session = {"session-1", 0, 0}}));
    REQUIRE((*journal)->note({{.seq_id = 1}}));
  }
  // A process of its own, since a limit on the size of files is one of the whole process.
  auto child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    auto journal = JobJournal::open(file, identity);
    if (!journal)
      ::_exit(2);
    auto limit = rlimit{64 * 1'024, 64 * 1'024};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    for (std::int64_t number = 2; number < 1'000; ++number)
      if (auto noted = (*journal)->note({{.seq_id = number}}); !noted)
        ::_exit(noted.error().code == Errc::io_error && mentions(noted.error(), file.string())
                        && (*journal)->attach()->next_seq_id == number
                    ? 0
                    : 3);
    ::_exit(4);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  auto journal = JobJournal::open(file, identity);
  REQUIRE(journal);
  auto attach = (*journal)->attach();
  REQUIRE(attach);
  CHECK(attach->open.size() + 1 == static_cast<std::size_t>(attach->next_seq_id));
  CHECK((*journal)->note({{.seq_id = attach->next_seq_id}}));
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "train/file_output.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tinkaf;
using namespace tinkaf::train;

TEST_CASE("A file is replaced as a whole and leaves no temporary one", "[train][file_output]") {
  const auto folder = test::TempFolder{};
  const auto file = folder.path() / "x.json";
  REQUIRE(write_file(file, "old"));
  REQUIRE(write_file(file, "new"));
  CHECK(test::read_text(file) == "new");
  CHECK(std::distance(std::filesystem::directory_iterator{folder.path()}, {}) == 1);
}

TEST_CASE("What a crash has left of a file is written over", "[train][file_output]") {
  const auto folder = test::TempFolder{};
  const auto file = folder.path() / "x.json";
  // Each try is killed half way through.
  auto limit = rlimit{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &limit) == 0);
  const auto left
      = [&] { return std::distance(std::filesystem::directory_iterator{folder.path()}, {}); };
  for (auto times = 0; times < 3; ++times)
    if (const auto child = ::fork(); child == 0) {
      const auto small = rlimit{1, limit.rlim_max};
      ::setrlimit(RLIMIT_FSIZE, &small); // the second byte ends it
      static_cast<void>(write_file(file, "too long"));
      ::_exit(0);
    } else {
      auto status = 0;
      REQUIRE(::waitpid(child, &status, 0) == child);
      REQUIRE(WIFSIGNALED(status));
    }
  CHECK(left() == 1);
  REQUIRE(write_file(file, "whole"));
  CHECK(test::read_text(file) == "whole");
  CHECK(left() == 1);
}

TEST_CASE("A file that cannot be written is named with the reason", "[train][file_output]") {
  const auto folder = test::TempFolder{};
  std::filesystem::create_directory(folder.path() / "taken");
  const auto written = write_file(folder.path() / "taken", "x");
  REQUIRE_FALSE(written);
  CHECK(written.error().code == Errc::io_error);
  CHECK(written.error().message.find("taken: Is a directory") != std::string::npos);
  CHECK(std::distance(std::filesystem::directory_iterator{folder.path()}, {}) == 1);
}

TEST_CASE("Lines are added behind those that are there", "[train][file_output]") {
  const auto folder = test::TempFolder{};
  const auto file = folder.path() / "x.jsonl";
  for (const auto* line : {"one", "two"}) {
    auto lines = LineFile::open(file);
    REQUIRE(lines);
    REQUIRE(lines->append(line));
    REQUIRE(lines->sync());
  }
  CHECK(test::read_text(file) == "one\ntwo\n");
}

TEST_CASE("A line torn by a crash is cut off", "[train][file_output]") {
  const auto folder = test::TempFolder{};
  const auto file = folder.path() / "x.jsonl";
  test::write_text(file, "one\ntw");
  auto lines = LineFile::open(file);
  REQUIRE(lines);
  REQUIRE(lines->append("three"));
  CHECK(test::read_text(file) == "one\nthree\n");
}

TEST_CASE("A full disk is an error with its reason", "[train][file_output]") {
  auto lines = LineFile::open("/dev/full");
  REQUIRE(lines);
  const auto written = lines->append("x");
  REQUIRE_FALSE(written);
  CHECK(written.error().code == Errc::io_error);
  CHECK(written.error().message == "cannot write /dev/full: No space left on device");
}

// SPDX-License-Identifier: Apache-2.0
#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <mutex>
#include <set>
#include <string>

#include "train/run_folder.hpp"
#include "train/step_samples.hpp"
#include <sys/syscall.h>
#include <unistd.h>

// What a run makes is on the disk with its name: a file that is synced in a folder that is not may
// be gone once the machine has lost its power.

namespace {

std::mutex mutex;
std::set<std::filesystem::path> synced;

std::set<std::filesystem::path> synced_until_now() {
  const auto lock = std::scoped_lock{mutex};
  return synced;
}

} // namespace

/// In the place of the C library's, for all of this program: notes what it waits for.
extern "C" int fsync(int fd) {
  auto failed = std::error_code{};
  const auto path = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), failed);
  {
    const auto lock = std::scoped_lock{mutex};
    synced.insert(path);
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

using namespace tinkaf;
using namespace tinkaf::train;

TEST_CASE("Folders of a new run are on the disk by name", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  REQUIRE(RunFolder::open(temp.path() / "a" / "b", {{"--steps", "20"}}));
  const auto all = synced_until_now();
  CHECK(all.count(temp.path()) == 1);
  CHECK(all.count(temp.path() / "a") == 1);
}

TEST_CASE("Samples that are noted are on the disk, their file by name", "[train]") {
  const auto temp = test::TempFolder{};
  auto samples = SampleFile::open(temp.path());
  REQUIRE(samples);
  REQUIRE(samples->add({}));
  const auto all = synced_until_now();
  CHECK(all.count(temp.path() / "samples.jsonl") == 1);
  CHECK(all.count(temp.path()) == 1);
}

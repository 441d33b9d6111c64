// SPDX-License-Identifier: Apache-2.0
#include "server/state_folder.hpp"
#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <mutex>
#include <set>
#include <string>

#include <sys/syscall.h>
#include <unistd.h>

namespace {

std::mutex mutex;
std::set<std::filesystem::path> synced;

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
using namespace tinkaf::server;

TEST_CASE("A checkpoint that is told of is on the disk, every folder above it by name",
          "[server][state]") {
  const auto temp = test::TempFolder{};
  const auto dir = temp.path() / "state";
  auto state = StateFolder::open(dir);
  REQUIRE(state.has_value());
  const auto path = TinkerPath{"s:train:0", CheckpointKind::training, "step-1"};
  auto filled = std::filesystem::path{};
  const auto fill = [&](const std::filesystem::path& to) -> Result<void> {
    filled = to;
    std::filesystem::create_directories(to);
    test::write_text(to / "file", "weights");
    return {};
  };
  REQUIRE((*state)->put(path, {.base_model = "b"}, fill));
  const auto run = dir / "checkpoints" / "s:train:0";
  const auto lock = std::scoped_lock{mutex};
  for (const auto& folder : {filled, run / "weights", run, dir / "checkpoints", dir}) {
    INFO(folder);
    CHECK(synced.count(folder) == 1);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include "test/catch.hpp"

#include <algorithm>
#include <memory>

using namespace tinkaf::cli;
using namespace std::chrono_literals;

TEST_CASE("Times are told as people read them", "[cli][progress]") {
  CHECK(duration_text(7s) == "7s");
  CHECK(duration_text(125s) == "2m05s");
  CHECK(duration_text(3720s) == "1h02m");
}

TEST_CASE("A headline that rounds to nothing has no sign", "[cli][progress]") {
  CHECK(four_places(-1.4e-7) == "0.0000");
  CHECK(four_places(-0.00006) == "-0.0001");
  CHECK(progress_line({1, 2, -1e-9, 5, 0s}).find("loss 0.0000") != std::string::npos);
}

TEST_CASE("A bar fills the width and tells loss, speed and what is left", "[cli][progress]") {
  const auto state = ProgressState{50, 100, 1.25, 4321.6, 65s};
  CHECK(progress_bar(state, 80)
        == " 50/100 steps [##############...............] loss 1.2500  4322 tok/s  ETA 1m05s");
  CHECK(progress_bar(state, 30).size() == 30);
  CHECK(progress_line(state) == "50/100 steps  loss 1.2500  4322 tok/s  ETA 1m05s");
}

TEST_CASE("A bar at its end is full", "[cli][progress]") {
  CHECK(progress_bar({3, 3, 0.5, 1, 0s}, 120).find("[" + std::string(30, '#') + "]")
        != std::string::npos);
}

TEST_CASE("A pipe gets some twenty plain lines, the last step among them", "[cli][progress]") {
  auto file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>{std::tmpfile(), std::fclose};
  REQUIRE(file);
  {
    auto progress = Progress{file.get(), 100};
    for (std::size_t step = 0; step < 100; ++step)
      progress.step_done(step, 1.0, 10);
  }
  std::rewind(file.get());
  auto text = std::string(10'000, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file.get()));
  CHECK(std::count(text.begin(), text.end(), '\n') == 21);
  CHECK(text.find("1/100 steps  loss 1.0000") == 0);
  CHECK(text.find("100/100 steps") != std::string::npos);
  CHECK(text.find('\r') == std::string::npos);
}

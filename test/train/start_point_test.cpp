// SPDX-License-Identifier: Apache-2.0
#include "train/start_point.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

struct RunOfAnother {
  void write(const std::string& rows) const {
    test::write_text(folder.path() / "checkpoints.jsonl", rows);
  }

  [[nodiscard]] Result<StartPoint> find() const {
    return find_start(folder.path().string());
  }

  test::TempFolder folder;
};

constexpr auto periodic
    = R"({"name":"step_5","batch":5,"epoch":0,"state_path":"tinker://r/weights/step_5"})"
      "\n";
constexpr auto last
    = R"({"name":"final","batch":9,"epoch":1,"final":true,"state_path":)"
      R"("tinker://r/weights/final","sampler_path":"tinker://r/sampler_weights/final"})"
      "\n";

} // namespace

TEST_CASE("A run begins from a path to train on, and from no other", "[train][start]") {
  CHECK(find_start("tinker://r/weights/a")->state_path == "tinker://r/weights/a");
  const auto other = find_start("tinker://r/sampler_weights/a");
  REQUIRE_FALSE(other);
  CHECK(other.error().message
        == "tinker://r/sampler_weights/a is to sample from; training begins from a "
           "tinker://…/weights/… path");
  CHECK(find_start("tinker://r").error().code == Errc::invalid_argument);
}

TEST_CASE_METHOD(RunOfAnother, "A run begins from the last checkpoint of another",
                 "[train][start]") {
  write(periodic);
  CHECK(find()->state_path == "tinker://r/weights/step_5");
  CHECK(find()->sampler_path.empty());
  write(std::string{periodic} + last);
  CHECK(find()->state_path == "tinker://r/weights/final");
  CHECK(find()->sampler_path == "tinker://r/sampler_weights/final");
}

TEST_CASE_METHOD(RunOfAnother, "A checkpoint whose line is not finished is none",
                 "[train][start]") {
  write(std::string{periodic} + std::string{last}.substr(0, 40));
  CHECK(find()->state_path == "tinker://r/weights/step_5");
}

TEST_CASE_METHOD(RunOfAnother, "A folder without a checkpoint to begin from is named",
                 "[train][start][errors]") {
  const auto name = folder.path().string();
  CHECK(find().error().message == name + " is no folder of a run: it has no checkpoints.jsonl");
  write("");
  CHECK(find().error().message == "the run in " + name + " has no checkpoint to begin from yet");
  CHECK(find().error().code == Errc::not_found);
  write("hello\n");
  CHECK(find().error().message == name + "/checkpoints.jsonl holds what is no checkpoint");
}

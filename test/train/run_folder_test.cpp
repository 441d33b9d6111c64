// SPDX-License-Identifier: Apache-2.0
#include "train/run_folder.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

using namespace tinkaf;
using namespace tinkaf::train;

TEST_CASE("A run that wrote nothing leaves no folder behind", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  {
    auto folder = RunFolder::create(temp.path() / "a" / "b");
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
    auto folder = RunFolder::create(run / "");
    REQUIRE(folder);
    REQUIRE(folder->write_config(R"({"seed":1})"));
    REQUIRE(folder->append(MetricsRow{}));
    REQUIRE(folder->append(CheckpointRow{"final", 20, 2, true, "tinker://r/weights/final",
                                         "tinker://r/sampler_weights/final"}));
  }
  CHECK(test::read_text(run / "config.json") == "{\"seed\":1}\n");
  CHECK(test::read_text(run / "metrics.jsonl").find("{\"step\":0,") == 0);
  CHECK(test::read_text(run / "checkpoints.jsonl")
        == R"({"name":"final","batch":20,"epoch":2,"final":true,)"
           R"("state_path":"tinker://r/weights/final",)"
           R"("sampler_path":"tinker://r/sampler_weights/final"})"
           "\n");
}

TEST_CASE("A folder that holds a run is not written to", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  test::write_text(temp.path() / "metrics.jsonl", "{}\n");
  const auto folder = RunFolder::create(temp.path());
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Errc::conflict);
  CHECK(folder.error().message.find(temp.path().string()) != std::string::npos);
  CHECK(test::read_text(temp.path() / "metrics.jsonl") == "{}\n");
}

TEST_CASE("A folder that cannot be made is named with the reason", "[train][run_folder]") {
  const auto temp = test::TempFolder{};
  test::write_text(temp.path() / "file", "");
  const auto folder = RunFolder::create(temp.path() / "file" / "run");
  REQUIRE_FALSE(folder);
  CHECK(folder.error().code == Errc::io_error);
  CHECK(folder.error().message.find((temp.path() / "file").string() + ": ") != std::string::npos);
}

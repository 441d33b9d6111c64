// SPDX-License-Identifier: Apache-2.0
#include "train/step_samples.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <limits>

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

StepSamples samples_of(std::size_t step) {
  const auto answer
      = SampledSequence{StopReason::stop, {5, 6}, std::vector<float>{-0.1F, -1.17549435e-38F}};
  const auto longer = SampledSequence{StopReason::length, {7}, std::vector<float>{-3.4028235F}};
  return {step, {{answer, longer}, {longer}}, {{-0.333333343F}, {}}};
}

} // namespace

TEST_CASE("Samples of a step are found again to the bit", "[train]") {
  const auto folder = test::TempFolder{};
  {
    auto file = SampleFile::open(folder.path());
    REQUIRE(file);
    REQUIRE(file->add(samples_of(3)));
    REQUIRE(file->add(samples_of(12)));
    CHECK(*file->find(12) == samples_of(12));
  }
  const auto file = SampleFile::open(folder.path());
  REQUIRE(file);
  CHECK(*file->find(3) == samples_of(3));
  CHECK(*file->find(12) == samples_of(12));
  CHECK_FALSE(file->has(4));
  CHECK(*file->find(4) == std::nullopt);
}

TEST_CASE("A note of samples that was cut off is none, and the next one stands in its place",
          "[train]") {
  const auto folder = test::TempFolder{};
  const auto path = folder.path() / "samples.jsonl";
  {
    auto file = SampleFile::open(folder.path());
    REQUIRE(file->add(samples_of(0)));
    REQUIRE(file->add(samples_of(1)));
  }
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 5);
  auto file = SampleFile::open(folder.path());
  REQUIRE(file);
  CHECK(file->has(0));
  CHECK_FALSE(file->has(1));
  REQUIRE(file->add(samples_of(1)));
  CHECK(*file->find(1) == samples_of(1));
}

TEST_CASE("What is no note of samples is told with its file", "[train]") {
  const auto folder = test::TempFolder{};
  test::write_text(folder.path() / "samples.jsonl", "{\"step\":0,\"answers\":5}\n");
  const auto file = SampleFile::open(folder.path());
  REQUIRE(file);
  CHECK(file->find(0).error().message.find("cannot read the samples of step 0 in ")
        != std::string::npos);
  test::write_text(folder.path() / "samples.jsonl", "hello\n");
  CHECK(SampleFile::open(folder.path()).error().message.find("samples.jsonl holds a line")
        != std::string::npos);
}

TEST_CASE("A log-probability that is not finite is not noted", "[train]") {
  const auto folder = test::TempFolder{};
  auto file = SampleFile::open(folder.path());
  auto samples = samples_of(2);
  samples.scores[0][0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(file->add(samples).error().code == Errc::protocol_error);
  samples = samples_of(2);
  samples.answers[0][0].logprobs.reset();
  CHECK_FALSE(file->add(samples));
  CHECK_FALSE(file->has(2));
}

TEST_CASE("Samples are forgotten from a step on, and drawn and noted anew", "[train]") {
  const auto folder = test::TempFolder{};
  REQUIRE(forget_samples(folder.path(), 0));
  CHECK(std::filesystem::is_empty(folder.path()));
  {
    auto file = SampleFile::open(folder.path());
    for (const std::size_t step : {0, 1, 2})
      REQUIRE(file->add(samples_of(step)));
  }
  const auto whole = test::read_text(folder.path() / "samples.jsonl");
  REQUIRE(forget_samples(folder.path(), 3));
  CHECK(test::read_text(folder.path() / "samples.jsonl") == whole);
  test::write_text(folder.path() / "samples.jsonl", whole + R"({"step":0,"ans)");
  REQUIRE(forget_samples(folder.path(), 1));
  auto file = SampleFile::open(folder.path());
  REQUIRE(file);
  CHECK(*file->find(0) == samples_of(0));
  CHECK_FALSE(file->has(1));
  CHECK_FALSE(file->has(2));
  REQUIRE(file->add(samples_of(1)));
  CHECK(*file->find(1) == samples_of(1));
}

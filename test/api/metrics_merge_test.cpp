// SPDX-License-Identifier: Apache-2.0
#include "api/metrics_merge.hpp"

#include "test/api/wire_examples.hpp"
#include "test/catch.hpp"

#include <limits>

using namespace tinkaf;

namespace {

std::vector<ForwardBackwardOutput> parts_of(const rapidjson::Value& in) {
  std::vector<ForwardBackwardOutput> parts;
  for (const auto& entry : in.GetArray()) {
    auto& part = parts.emplace_back();
    part.loss_fn_outputs.resize(entry["n"].GetUint());
    for (const auto& metric : entry["metrics"].GetObject())
      part.metrics[metric.name.GetString()] = metric.value.GetDouble();
  }
  return parts;
}

} // namespace

TEST_CASE("Metrics merge as in the examples", "[api][metrics]") {
  auto cases = test::example_json("metrics-merge.json");
  CHECK(cases.Size() == 11);
  for (const auto& example : cases.GetArray()) {
    INFO(test::canonical(example));
    auto merged = merge_outputs(parts_of(example["in"]));
    CHECK(merged.has_value() != example.HasMember("error"));
    if (!merged)
      continue;
    const auto& expected = example["out"];
    CHECK(merged->metrics.size() + merged->hashes.size() == expected.MemberCount());
    for (const auto& metric : expected.GetObject()) {
      std::string name = metric.name.GetString();
      if (name.ends_with(":hash_unordered"))
        CHECK(merged->hashes.at(name) == metric.value.GetInt64());
      else
        CHECK(merged->metrics.at(name) == Catch::Approx(metric.value.GetDouble()));
    }
  }
}

TEST_CASE("Outputs are joined in order, under the first part's type", "[api][metrics]") {
  std::vector<ForwardBackwardOutput> parts(2);
  parts[0].loss_fn_output_type = "A";
  parts[0].loss_fn_outputs = {{{"x", TensorData::of(std::vector<float>{1})}}};
  parts[1].loss_fn_output_type = "B";
  parts[1].loss_fn_outputs = {{{"x", TensorData::of(std::vector<float>{2})}}, {}};
  auto merged = merge_outputs(parts);
  REQUIRE(merged.has_value());
  CHECK(merged->loss_fn_output_type == "A");
  REQUIRE(merged->loss_fn_outputs.size() == 3);
  CHECK(merged->loss_fn_outputs[1].at("x") == TensorData::of(std::vector<float>{2}));
  CHECK(merge_outputs({}) == ForwardBackwardOutput{});
}

TEST_CASE("A hash of what is no integer is an error", "[api][metrics]") {
  for (auto value : {std::numeric_limits<double>::quiet_NaN(), 1e300, -1e19}) {
    std::vector<ForwardBackwardOutput> parts(1);
    parts[0].metrics["h:hash_unordered"] = value;
    CHECK_FALSE(merge_outputs(parts).has_value());
  }
}

TEST_CASE("Hashes do not depend on the order", "[api][metrics]") {
  CHECK(hash_unordered({3, 5}) == 7'586'885'779'985'432'798);
  CHECK(hash_unordered({5, 3}) == hash_unordered({3, 5}));
  CHECK(hash_unordered({}) != hash_unordered({0}));
  auto least = std::numeric_limits<std::int64_t>::min();
  CHECK(hash_unordered({least}) != hash_unordered({least + 1}));
}

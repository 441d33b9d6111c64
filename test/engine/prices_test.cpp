// SPDX-License-Identifier: Apache-2.0
#include "engine/prices.hpp"

#include "test/catch.hpp"
#include "test/engine/engine_data.hpp"

#include <string>

#include "engine/cost.hpp"

using namespace tinkaf;

namespace {

const auto shipped = std::filesystem::path{TINKAF_SOURCE_DIR} / "data" / "prices.json";

std::string error_of(const std::string& json) {
  auto table = parse_prices(json, "p.json");
  REQUIRE_FALSE(table.has_value());
  CHECK(table.error().code == Errc::invalid_argument);
  return table.error().message;
}

} // namespace

TEST_CASE("The shipped prices tell their day and give a model's price by either name",
          "[engine][prices]") {
  auto table = read_prices(shipped);
  REQUIRE(table.has_value());
  CHECK(table->date == "2026-08-28");
  CHECK(table->models.size() == 29);
  const Price expected{.prefill = 0.195, .cached_prefill = 0.039, .sample = 0.60, .train = 0.44};
  CHECK(table->of("Qwen3-8B") == expected);
  CHECK(table->of("Qwen/Qwen3-8B") == expected);
  for (const auto& [model, price] : table->models) {
    INFO(model);
    CHECK(price.cached_prefill == Catch::Approx(price.prefill / 5));
  }
}

TEST_CASE("A hundred steps of eight rows cost what the shipped prices say", "[engine][prices]") {
  auto price = read_prices(shipped).value().of("Qwen/Qwen3-8B").value();
  const TrainOp step{.datums = test::batch_of(std::vector<std::size_t>(8, 512)),
                     .loss = CrossEntropy{}};
  auto custom = step;
  custom.loss = test::raise_all();
  CHECK(projection(Schedule(100, step), price).value() == Catch::Approx(0.180224).epsilon(1e-12));
  CHECK(projection(Schedule(100, custom), price).value() == Catch::Approx(0.360448).epsilon(1e-12));
}

TEST_CASE("A model without a price is an error that names it, the day and its relatives",
          "[engine][prices][errors]") {
  auto table = read_prices(shipped).value();
  auto price = table.of("Qwen/Qwen3-8B:peft:262144");
  REQUIRE_FALSE(price.has_value());
  CHECK(price.error().code == Errc::not_found);
  CHECK(price.error().message.find("2026-08-28") != std::string::npos);
  CHECK(price.error().message.find("Qwen3-8B:peft:262144") != std::string::npos);
  CHECK(price.error().message.find("there are Qwen3-8B") != std::string::npos);
  CHECK(table.of("unheard-of").error().message.find("none is like it") != std::string::npos);
}

TEST_CASE("Prices can be changed and added", "[engine][prices]") {
  auto table = read_prices(shipped).value();
  table.models["Qwen3-8B"].train = 1.0;
  table.models["tiny"] = Price{.prefill = 2.0};
  CHECK(table.of("Qwen/Qwen3-8B").value().train == 1.0);
  CHECK(table.of("tinkaf/tiny").value().prefill == 2.0);
}

TEST_CASE("A bad file of prices is an error that names the field", "[engine][prices][errors]") {
  CHECK(error_of("[]") == "p.json: is not an object");
  CHECK(error_of(R"({"usd_per_million_tokens": {}})").find("date is missing") != std::string::npos);
  CHECK(error_of(R"({"date": "d"})").find("usd_per_million_tokens is missing")
        != std::string::npos);
  const std::string head = R"({"date": "d", "usd_per_million_tokens": {"m": )";
  CHECK(error_of(head + "1}}") == "p.json: usd_per_million_tokens.m is not an object");
  CHECK(error_of(head + R"({"prefill": 1, "sample": 1}}})")
        == "p.json: usd_per_million_tokens.m.train is missing");
  CHECK(error_of(head + R"({"prefill": "1", "sample": 1, "train": 1}}})")
        == "p.json: usd_per_million_tokens.m.prefill is not a number");
  CHECK(error_of(head + R"({"prefill": 1, "sample": -1, "train": 1}}})").find("price.sample is -1")
        != std::string::npos);
  auto missing = read_prices("/nonexistent/prices.json");
  REQUIRE_FALSE(missing.has_value());
  CHECK(missing.error().code == Errc::io_error);
}

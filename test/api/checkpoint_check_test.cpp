// SPDX-License-Identifier: Apache-2.0
#include "api/checkpoint_check.hpp"

#include "test/catch.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

TEST_CASE("The name of a checkpoint is not empty and has no slash", "[api][checkpoint_check]") {
  CHECK(check_checkpoint_name("step-1").has_value());
  CHECK(check_checkpoint_name("").error().message.find("name is empty") != std::string::npos);
  for (const auto* name : {"a/b", "/a", "a/", "tinker://run/weights/a"})
    CHECK(check_checkpoint_name(name).error().message.find(name) != std::string::npos);
}

TEST_CASE("A checkpoint lives for a second at least", "[api][checkpoint_check]") {
  CHECK(check_save_options({}).has_value());
  CHECK(check_save_options({.ttl = 1s, .overwrite = true}).has_value());
  for (auto ttl : {0s, -5s}) {
    auto refused = check_save_options({.ttl = ttl});
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.error().code == Errc::invalid_argument);
    CHECK(refused.error().message.find("ttl is " + std::to_string(ttl.count()))
          != std::string::npos);
    CHECK_FALSE(check_sampler_save_options({.ttl = ttl}).has_value());
  }
}

TEST_CASE("A save to sample from does not overwrite", "[api][checkpoint_check]") {
  CHECK(check_sampler_save_options({.ttl = 60s}).has_value());
  CHECK(check_sampler_save_options({.overwrite = true}).error().message.find("overwrite is set")
        != std::string::npos);
}

TEST_CASE("A path of the other kind is told from one that is none", "[api][checkpoint_check]") {
  CHECK(check_training_path("tinker://run/weights/a", "load_state").has_value());
  auto other = check_training_path("tinker://run/sampler_weights/a", "load_state");
  REQUIRE_FALSE(other.has_value());
  CHECK(other.error().message.find("to sample from") != std::string::npos);
  CHECK(other.error().message.find("load_state needs one to train on") != std::string::npos);
  CHECK(other.error().message.find("`tinker://run/weights/a`") != std::string::npos);
  for (const auto* path : {"", "a", "tinker://run/weights", "tinker://run/other/a"}) {
    auto malformed = check_training_path(path, "load_state");
    REQUIRE_FALSE(malformed.has_value());
    CHECK(malformed.error().message.find("is not a checkpoint path") != std::string::npos);
  }
}

// SPDX-License-Identifier: Apache-2.0
#include "messages/tinker_path.hpp"

#include "test/catch.hpp"

using namespace tinkaf;

TEST_CASE("A checkpoint path splits into run, kind and name", "[messages][tinker_path]") {
  auto path = TinkerPath::parse("tinker://s:train:0/sampler_weights/step 10");
  REQUIRE(path);
  CHECK(path->training_run_id == "s:train:0");
  CHECK(path->kind == CheckpointKind::sampler);
  CHECK(path->name == "step 10");
  CHECK(path->checkpoint_id() == "sampler_weights/step 10");
  CHECK(path->str() == "tinker://s:train:0/sampler_weights/step 10");
}

TEST_CASE("Anything else is not a checkpoint path", "[messages][tinker_path]") {
  auto text = GENERATE("", "s/weights/x", "tinker://s", "tinker://s/weights", "tinker://s/w/x",
                       "tinker://s/weights/x/y", "tinker:///weights/x", "tinker://s/weights/");
  auto path = TinkerPath::parse(text);
  REQUIRE_FALSE(path);
  CHECK(path.error().code == Errc::invalid_argument);
}

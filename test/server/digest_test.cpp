// SPDX-License-Identifier: Apache-2.0
#include "server/digest.hpp"

#include "test/catch.hpp"

using namespace tinkaf;
using tinkaf::server::digest_of;

TEST_CASE("The hash is FNV-1a", "[server][digest]") {
  // From the hash's public test vectors.
  CHECK(digest_of("") == "6c62272e07bb014262b821756295c58d");
  CHECK(digest_of("a") == "d228cb696f1a8caf78912b704e4a8964");
  CHECK(digest_of("foobar") == "343e1662793c64bf6f0d3597ba446f18");
}

TEST_CASE("Passes differ in whatever matters", "[server][digest]") {
  auto make = [](Token token, float weight, LossFn loss, bool forward_only,
                 std::optional<LossFnConfig> config) {
    return digest_of(ForwardBackwardRequest{
        .model_id = "m",
        .seq_id = 1,
        .data = BatchSlice::whole(make_batch(
            {{.model_input = ModelInput::from_ints({token}),
              .loss_fn_inputs = {{"weights", TensorData::of(std::vector<float>{weight})}}}})),
        .loss_fn = loss,
        .loss_fn_config = std::move(config),
        .forward_only = forward_only});
  };
  const auto one = make(1, 1.0F, LossFn::ppo, false, {});
  CHECK(one == make(1, 1.0F, LossFn::ppo, false, {}));
  CHECK(one != make(2, 1.0F, LossFn::ppo, false, {}));
  CHECK(one != make(1, 0.5F, LossFn::ppo, false, {}));
  CHECK(one != make(1, 1.0F, LossFn::cispo, false, {}));
  CHECK(one != make(1, 1.0F, LossFn::ppo, true, {}));
  CHECK(one != make(1, 1.0F, LossFn::ppo, false, LossFnConfig{{"clip_low_threshold", 0.5}}));
}

// SPDX-License-Identifier: Apache-2.0
#include "losses/dpo.hpp"

#include "test/losses/batch.hpp"

using namespace tinkaf;
using namespace tinkaf::losses;

TEST_CASE("dpo gives loss, gradients and metrics of two pairs worked by hand", "[losses]") {
  // π: chosen −2 and −6, rejected −3 and −4; ρ: −2.5, −2.75, −5, −4.25.
  TestBatch batch;
  for (const auto x : {-2.0F, -3.0F, -6.0F, -4.0F})
    batch.add({x});
  const auto loss = dpo({.beta = 0.1, .reference = {{-2.5F}, {-2.75F}, {-5.0F}, {-4.25F}}}).value();
  const auto value = batch.run(loss);
  REQUIRE(value);
  const auto is = [](double x) { return Catch::Approx(x).epsilon(1e-9).margin(1e-12); };
  CHECK(value->loss == is(0.7069745881));
  CHECK(value->metrics.at("dpo_loss") == is(0.7069745881));
  CHECK(value->metrics.at("accuracy") == 0.5);
  CHECK(value->metrics.at("chosen_reward") == is(-0.025));
  CHECK(value->metrics.at("rejected_reward") == is(0.0));
  CHECK(value->metrics.at("margin") == is(-0.025));
  check_close(gradient_at(batch.scalar(loss), batch.points()),
              {{-0.0240629392}, {0.0240629392}, {-0.0265604687}, {0.0265604687}}, 1e-8);
}

TEST_CASE("dpo weighs tokens and has the gradients of central differences", "[losses]") {
  TestBatch batch;
  batch.add({-0.5F, -1.5F, -0.25F}, 1, {{"weights", {0.0F, 1.0F, 0.5F}}});
  batch.add({-0.75F, -2.5F}, 1, {{"weights", {0.0F, 1.0F}}});
  const TokenValues reference{{-9.0F, -1.0F, -0.5F}, {-9.0F, -2.0F}};
  const auto loss = dpo({.beta = 0.5, .reference = reference}).value();
  check_formula(loss, batch);
  const auto value = batch.run(loss);
  CHECK(value->gradients[0].floats()->at(0) == 0.0F);
  CHECK(value->gradients[0].floats()->at(1) == 2.0F * value->gradients[0].floats()->at(2));
}

TEST_CASE("dpo refuses what makes no pairs and what does not fit", "[losses]") {
  TestBatch batch;
  CHECK(holds(refusal(batch.run(*dpo({}))), "dpo: 0 datums do not make pairs"));
  batch.add({-1.0F});
  CHECK(holds(refusal(batch.run(*dpo({.reference = {{-1.0F}}}))), "dpo: 1 datums"));
  batch.add({-1.0F, -2.0F});
  CHECK(holds(refusal(batch.run(*dpo({.reference = {{-1.0F}}}))),
              "dpo: reference: has values of 1 datums for 2"));
  CHECK(holds(refusal(batch.run(*dpo({.reference = {{-1.0F}, {-1.0F}}}))),
              "dpo: reference[1]: has 1 elements for 2 logprobs"));
  CHECK(dpo({.beta = 0.0}).error().message == "dpo: beta is 0, must be above 0");
}

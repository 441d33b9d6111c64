// SPDX-License-Identifier: Apache-2.0
#include "losses/regularizers.hpp"

#include "losses/policy_losses.hpp"
#include "test/losses/batch.hpp"

#include <limits>

using namespace tinkaf;
using namespace tinkaf::losses;

namespace {

constexpr auto no_number = std::numeric_limits<double>::quiet_NaN();

/// Two datums of different lengths.
TestBatch plain() {
  TestBatch out;
  out.add({-0.5F, -1.5F, -0.25F}, 1, {{"original_logprobs", {-1.0F, -1.25F, -0.5F}}});
  out.add({-0.75F, -2.5F}, 1, {{"original_logprobs", {-0.5F, -3.0F}}});
  return out;
}

/// Several target tokens per position.
TestBatch several() {
  TestBatch out;
  out.add({-0.5F, -1.5F, -2.25F, -0.25F, -3.0F, -1.75F}, 3);
  out.add({-0.75F, -2.5F}, 2);
  return out;
}

const TokenValues plain_reference{{-0.75F, -1.0F, -0.5F}, {-1.75F, -2.0F}};

double loss_of(const TestBatch& batch, const Formula& formula) {
  const auto value = batch.run(formula);
  if (!value)
    FAIL(value.error().message);
  return value->loss;
}

auto is(double x) {
  return Catch::Approx(x).epsilon(1e-9);
}

} // namespace

TEST_CASE("l1_sparsity adds up absolute values", "[losses]") {
  const auto batch = plain();
  CHECK(loss_of(batch, l1_sparsity()) == 5.5);
  CHECK(loss_of(batch, l1_sparsity({.reduction = Reduction::mean})) == is(1.1));
  const auto value = batch.run(l1_sparsity({.reduction = Reduction::mean}));
  CHECK(value->metrics.at("l1_raw") == 5.5);
  CHECK(value->metrics.at("l1_mean") == is(1.1));
  check_formula(l1_sparsity(), batch);
  check_formula(l1_sparsity({.target = Target::probabilities}), batch);
}

TEST_CASE("l2_weight_decay adds up squares, centered and clipped if asked", "[losses]") {
  const auto batch = plain();
  CHECK(loss_of(batch, *l2_weight_decay()) == 0.25 + 2.25 + 0.0625 + 0.5625 + 6.25);
  CHECK(loss_of(batch, *l2_weight_decay({.clip = 1.0})) == 0.25 + 1.0 + 0.0625 + 0.5625 + 1.0);
  // The mean of all five is −1.1.
  CHECK(loss_of(batch, *l2_weight_decay({.center = true}))
        == is(0.36 + 0.16 + 0.7225 + 0.1225 + 1.96));
  check_formula(*l2_weight_decay(), batch);
  check_formula(*l2_weight_decay({.clip = 1.0}), batch);
  check_formula(*l2_weight_decay({.clip = 1.0, .center = true}), batch);
  check_formula(*l2_weight_decay({.target = Target::probabilities, .reduction = Reduction::mean}),
                batch);
}

TEST_CASE("elastic_net mixes absolute values and squares", "[losses]") {
  const auto batch = plain();
  CHECK(loss_of(batch, *elastic_net({.l1_ratio = 0.25})) == is(0.25 * 5.5 + 0.75 * 9.375));
  check_formula(*elastic_net(), batch);
  check_formula(*elastic_net({.l1_ratio = 0.25, .reduction = Reduction::mean}), batch);
}

TEST_CASE("entropy is that of the listed tokens, or the share of the only one", "[losses]") {
  const auto batch = several();
  TestBatch uniform;
  uniform.add({-2.0F, -2.0F, -2.0F, -2.0F}, 4);
  CHECK(loss_of(uniform, *entropy()) == is(std::log(4.0)));
  CHECK(loss_of(uniform, *entropy({.normalize = true})) == is(1.0));
  CHECK(loss_of(uniform, *entropy({.goal = EntropyOptions::Goal::maximize})) == is(-std::log(4.0)));
  CHECK(uniform.run(*entropy({.goal = EntropyOptions::Goal::maximize}))->metrics.at("entropy")
        == is(std::log(4.0)));
  // A low temperature sharpens.
  CHECK(loss_of(batch, *entropy({.temperature = 0.5})) < loss_of(batch, *entropy()));
  check_formula(*entropy(), batch);
  check_formula(*entropy({.goal = EntropyOptions::Goal::maximize,
                          .temperature = 0.7,
                          .normalize = true,
                          .reduction = Reduction::sum}),
                batch);
  TestBatch one;
  one.add({-0.5F});
  CHECK(loss_of(one, *entropy()) == is(0.5 * std::exp(-0.5)));
  check_formula(*entropy(), plain());
  CHECK(holds(refusal(one.run(*entropy({.normalize = true}))), "entropy: data[0] has one target"));
  CHECK(holds(refusal(one.run(*entropy({.temperature = 2.0}))), "entropy: data[0] has one target"));
}

TEST_CASE("kl_divergence compares with references of every datum", "[losses]") {
  using Direction = KlOptions::Direction;
  // Distributions over two tokens: (1/2, 1/2) and (1/4, 3/4).
  TestBatch batch;
  const auto ln = [](double x) { return static_cast<float>(std::log(x)); };
  batch.add({ln(0.5), ln(0.5)}, 2);
  const TokenValues reference{{ln(0.25), ln(0.75)}};
  const auto forward = 0.5 * std::log(2.0) + 0.5 * std::log(2.0 / 3.0);
  const auto reverse = 0.25 * std::log(0.5) + 0.75 * std::log(1.5);
  const auto kl = [&](Direction direction) {
    return loss_of(batch, *kl_divergence({.reference = reference, .direction = direction}));
  };
  const auto near = [](double x) { return Catch::Approx(x).epsilon(1e-6); };
  CHECK(kl(Direction::forward) == near(forward));
  CHECK(kl(Direction::reverse) == near(reverse));
  CHECK(kl(Direction::symmetric) == near(0.5 * (forward + reverse)));
  for (const auto direction : {Direction::forward, Direction::reverse, Direction::symmetric}) {
    check_formula(*kl_divergence({.reference = plain_reference, .direction = direction}), plain());
    check_formula(*kl_divergence({.reference = "original_logprobs",
                                  .direction = direction,
                                  .reduction = Reduction::sum}),
                  plain());
  }
  const TokenValues same{{-0.5F, -1.5F, -0.25F}, {-0.75F, -2.5F}};
  CHECK(loss_of(plain(), *kl_divergence({.reference = same})) == 0.0);
}

TEST_CASE("the second datum's reference counts as much as the first's", "[losses]") {
  auto reference = plain_reference;
  const auto before = loss_of(plain(), *kl_divergence({.reference = reference}));
  reference[1][1] -= 1.0F;
  CHECK(loss_of(plain(), *kl_divergence({.reference = reference})) != before);
  const auto value = plain().run(*kl_divergence({.reference = reference}));
  for (const auto& gradient : value->gradients)
    for (const auto slope : *gradient.floats())
      CHECK(slope != 0.0F);
}

TEST_CASE("consistency measures the distance from the pair", "[losses]") {
  using Measure = ConsistencyOptions::Measure;
  const auto batch = plain();
  CHECK(loss_of(batch, *consistency({})) == is((0.25 + 0.0625 + 0.0625 + 0.0625 + 0.25) / 5));
  CHECK(loss_of(batch, *consistency({.measure = Measure::mae}))
        == is((0.5 + 0.25 + 0.25 + 0.25 + 0.5) / 5));
  TestBatch right_angle;
  right_angle.add({-1.0F, 0.0F}, 1, {{"original_logprobs", {0.0F, -3.0F}}});
  CHECK(loss_of(right_angle, *consistency({.measure = Measure::cosine})) == is(1.0));
  for (const auto measure : {Measure::mse, Measure::mae, Measure::kl, Measure::cosine}) {
    check_formula(*consistency({.measure = measure}), batch);
    check_formula(
        *consistency({.pair = plain_reference, .measure = measure, .reduction = Reduction::sum}),
        batch);
  }
  TestBatch zeros;
  zeros.add({0.0F, 0.0F}, 1, {{"original_logprobs", {0.0F, 0.0F}}});
  CHECK(loss_of(zeros, *consistency({.measure = Measure::cosine})) == 1.0);
}

TEST_CASE("orthogonality punishes datums that point the same way", "[losses]") {
  using Mode = OrthogonalityOptions::Mode;
  TestBatch alike;
  alike.add({-1.0F, -2.0F});
  alike.add({-2.0F, -4.0F});
  CHECK(loss_of(alike, orthogonality()) == is(2.0));
  TestBatch apart;
  apart.add({-1.0F, 0.0F});
  apart.add({0.0F, -3.0F});
  CHECK(loss_of(apart, orthogonality()) == 0.0);
  CHECK(loss_of(apart, orthogonality({.mode = Mode::hard})) == is(0.0).margin(1e-12));
  CHECK(loss_of(apart, orthogonality({.mode = Mode::hard, .normalize = false})) == 64.0);
  TestBatch batch;
  batch.add({-0.5F, -1.5F, -0.25F});
  batch.add({-0.75F, -2.5F, -1.0F});
  batch.add({-1.25F, -0.125F, -2.0F});
  for (const auto mode : {Mode::soft, Mode::hard})
    for (const auto normalize : {true, false})
      check_formula(orthogonality({.mode = mode, .normalize = normalize}), batch);
  CHECK(holds(refusal(plain().run(orthogonality())),
              "orthogonality: data[1] has 2 target tokens, data[0] 3"));
  TestBatch zeros;
  zeros.add({0.0F, 0.0F});
  CHECK(loss_of(zeros, orthogonality()) == 0.0);
}

TEST_CASE("gradient_penalty is exact in its own gradient", "[losses]") {
  const Formula squares = [](const FormulaInput& input) -> FormulaValue {
    return {.loss = sum(square(join(input.logprobs)))};
  };
  const Formula curved = [](const FormulaInput& input) -> FormulaValue {
    auto loss = input.tape.constant(0.0);
    for (const auto& p : input.logprobs)
      loss = loss - log_sigmoid(2.0 * sum(p)) + dot(exp(p), p);
    return {.loss = loss};
  };
  const auto batch = plain();
  // ∂/∂p of Σ p² is 2p, whose norm is 2 √9.375.
  const auto norm = 2.0 * std::sqrt(9.375);
  const auto value = batch.run(*gradient_penalty({.of = squares}));
  REQUIRE(value);
  CHECK(value->loss == is((norm - 1.0) * (norm - 1.0)));
  CHECK(value->metrics.at("norm") == is(norm));
  for (const auto& formula : {squares, curved}) {
    check_formula(*gradient_penalty({.of = formula}), batch);
    check_formula(*gradient_penalty({.of = formula,
                                     .target_norm = 0.5,
                                     .interpolate_with = plain_reference,
                                     .share = 0.25}),
                  batch);
  }
  check_formula(*gradient_penalty({.of = *gradient_penalty({.of = squares})}), batch);
}

TEST_CASE("gradient_penalty does nothing to a loss that is linear, and nothing at norm 0",
          "[losses]") {
  const auto value = plain().run(*gradient_penalty({.of = cross_entropy}));
  REQUIRE(value);
  for (const auto& gradient : value->gradients)
    for (const auto slope : *gradient.floats())
      CHECK(slope == 0.0F);
  TestBatch zeros;
  zeros.add({0.0F, 0.0F});
  CHECK(loss_of(zeros, *gradient_penalty({.of = *l2_weight_decay()})) == 1.0);
}

TEST_CASE("terms over nothing are 0", "[losses]") {
  TestBatch nothing;
  nothing.add({}, 1, {{"original_logprobs", {}}});
  for (const auto& formula :
       {l1_sparsity({.reduction = Reduction::mean}), *l2_weight_decay({.center = true}),
        *elastic_net(), *entropy(), *kl_divergence({.reference = TokenValues{{}}}),
        *consistency({}), orthogonality()})
    CHECK(loss_of(nothing, formula) == 0.0);
}

TEST_CASE("bad settings of regularizers are refused by name and value", "[losses]") {
  const auto refused = [](const Result<Formula>& formula, const char* text) {
    REQUIRE_FALSE(formula);
    CHECK(formula.error().code == Errc::invalid_argument);
    INFO(formula.error().message);
    CHECK(holds(formula.error().message, text));
  };
  refused(l2_weight_decay({.clip = 0.0}), "l2_weight_decay: clip is 0");
  refused(l2_weight_decay({.clip = no_number}), "l2_weight_decay: clip is nan");
  refused(elastic_net({.l1_ratio = 1.5}), "elastic_net: l1_ratio is 1.5");
  refused(elastic_net({.l1_ratio = no_number}), "elastic_net: l1_ratio is nan");
  refused(entropy({.temperature = 0.0}), "entropy: temperature is 0");
  refused(kl_divergence({.reference = ""}), "kl_divergence: the reference");
  refused(consistency({.pair = ""}), "consistency: the pair");
  refused(gradient_penalty({}), "gradient_penalty: of is empty");
  refused(gradient_penalty({.of = cross_entropy, .target_norm = -1.0}), "target_norm is -1");
  refused(gradient_penalty({.of = cross_entropy, .share = 2.0}), "share is 2");
}

TEST_CASE("references that do not fit are refused by datum", "[losses]") {
  auto reference = plain_reference;
  reference[1].pop_back();
  CHECK(holds(refusal(plain().run(*kl_divergence({.reference = reference}))),
              "kl_divergence: reference[1]: has 1 elements for 2 logprobs"));
  CHECK(holds(refusal(plain().run(*consistency({.pair = "twin"}))),
              "data[0].loss_fn_inputs.twin: is missing"));
}

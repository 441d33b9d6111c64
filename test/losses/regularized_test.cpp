// SPDX-License-Identifier: Apache-2.0
#include "losses/regularized.hpp"

#include "losses/policy_losses.hpp"
#include "losses/regularizers.hpp"
#include "test/losses/batch.hpp"

#include <limits>

using namespace tinkaf;
using namespace tinkaf::losses;

namespace {

TestBatch three_tokens() {
  TestBatch out;
  out.add({-0.5F, -1.5F});
  out.add({-0.75F});
  return out;
}

FormulaValue sum_of_all(const FormulaInput& input) {
  return {.loss = sum(join(input.logprobs))};
}

} // namespace

TEST_CASE("the total is the base and the weighted values, with its gradient", "[losses]") {
  const auto batch = three_tokens();
  const auto formula = regularized(cross_entropy, {{"l2", 0.5, *l2_weight_decay()},
                                                   {"sum", 2.0, sum_of_all},
                                                   {"off", 0.0, l1_sparsity()}})
                           .value();
  const auto value = batch.run(formula);
  REQUIRE(value);
  CHECK(value->loss == 2.75 + 0.5 * 3.0625 + 2.0 * -2.75);
  check_formula(formula, batch);
  const auto& metrics = value->metrics;
  CHECK(metrics.at("loss_total") == value->loss);
  CHECK(metrics.at("base_loss/value") == 2.75);
  CHECK(metrics.at("regularizer_total") == 0.5 * 3.0625 + 2.0 * -2.75);
  CHECK(metrics.at("l2/value") == 3.0625);
  CHECK(metrics.at("l2/weight") == 0.5);
  CHECK(metrics.at("l2/contribution") == 0.5 * 3.0625);
  CHECK(metrics.at("off/contribution") == 0.0);
  CHECK(metrics.at("off/l1_raw") == 2.75);
}

TEST_CASE("norms are those of the gradients", "[losses]") {
  const auto batch = three_tokens();
  const auto value = batch.run(*regularized(cross_entropy, {{"sum", 2.0, sum_of_all}}));
  REQUIRE(value);
  const auto root = Catch::Approx(std::sqrt(3.0)).epsilon(1e-12);
  CHECK(value->metrics.at("base_loss/grad_norm") == root);
  CHECK(value->metrics.at("sum/grad_norm") == root);
  CHECK(value->metrics.at("sum/grad_norm_weighted") == Catch::Approx(2.0 * std::sqrt(3.0)));
  // The base pulls by −1 and the term by 2.
  CHECK(value->metrics.at("total_grad_norm") == root);
}

TEST_CASE("terms are evaluated in the order given", "[losses]") {
  std::string order;
  const auto term = [&](char letter) -> Formula {
    return [&order, letter](const FormulaInput& input) -> FormulaValue {
      order += letter;
      return sum_of_all(input);
    };
  };
  const auto value = three_tokens().run(*regularized(
      term('b'), {{"z", 1.0, term('z')}, {"a", 1.0, term('a')}, {"m", 1.0, term('m')}}));
  CHECK(value);
  CHECK(order == "bzam");
}

TEST_CASE("a term that fails fails the loss, by its name", "[losses]") {
  const auto with = [](Formula bad) {
    return refusal(three_tokens().run(
        *regularized(cross_entropy, {{"good", 1.0, sum_of_all}, {"bad", 0.0, std::move(bad)}})));
  };
  CHECK(holds(
      with([](const FormulaInput&) -> FormulaValue { throw std::runtime_error{"out of luck"}; }),
      "regularizer `bad`: out of luck"));
  CHECK(holds(with([](const FormulaInput& input) -> FormulaValue {
                return {.loss = sum(log(input.logprobs[0]))};
              }),
              "nan, but must be finite"));
  CHECK(holds(
      with([](const FormulaInput& input) -> FormulaValue { return {.loss = input.logprobs[0]}; }),
      "regularizer `bad`: a vector of 2 elements"));
}

TEST_CASE("two metrics of one name are refused", "[losses]") {
  const Formula base = [](const FormulaInput& input) -> FormulaValue {
    return {sum(input.logprobs[0]), {{"loss_total", 1.0}}};
  };
  CHECK(holds(refusal(three_tokens().run(*regularized(base, {}))),
              "two metrics have the name `loss_total`"));
}

TEST_CASE("bad terms are refused by index and name", "[losses]") {
  const auto refused = [](std::vector<Regularizer> terms, const char* text) {
    const auto formula = regularized(cross_entropy, std::move(terms));
    REQUIRE_FALSE(formula);
    INFO(formula.error().message);
    CHECK(holds(formula.error().message, text));
  };
  constexpr auto nan = std::numeric_limits<double>::quiet_NaN();
  refused({{"", 1.0, sum_of_all}}, "regularizers[0]: name is empty");
  refused({{"a", 1.0, sum_of_all}, {"a", 1.0, sum_of_all}}, "regularizers[1]: name `a` is taken");
  refused({{"a", -1.0, sum_of_all}}, "regularizers[0] `a`: weight is -1");
  refused({{"a", nan, sum_of_all}}, "regularizers[0] `a`: weight is nan");
  refused({{"a", 1.0, {}}}, "regularizers[0] `a`: value is empty");
  CHECK_FALSE(regularized({}, {}));
}

TEST_CASE("a regularized loss can be regularized again", "[losses]") {
  const auto inner = *regularized(cross_entropy, {{"l1", 1.0, l1_sparsity()}});
  const auto outer = regularized(
      [inner](const FormulaInput& input) -> FormulaValue { return {.loss = inner(input).loss}; },
      {{"l2", 1.0, *l2_weight_decay()}});
  CHECK(three_tokens().run(*outer)->loss == 2.75 + 2.75 + 3.0625);
}

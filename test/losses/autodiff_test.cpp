// SPDX-License-Identifier: Apache-2.0
#include "losses/autodiff.hpp"

#include "test/losses/differences.hpp"

#include <limits>
#include <numeric>
#include <thread>

using namespace tinkaf;
using namespace tinkaf::losses;

namespace {

constexpr auto infinity = std::numeric_limits<double>::infinity();

struct Case {
  const char* name;
  std::function<Var(const Var&, const Var&)> of;
};

/// A number that depends on each element of `x` in its own way.
Var spread(Tape& tape, const Var& x) {
  if (x.is_scalar())
    return x * 1.5;
  std::vector<double> factors(x.size());
  std::iota(factors.begin(), factors.end(), 1.0);
  return dot(tape.constant(std::span<const double>{factors}), x);
}

void check_cases(const std::vector<Case>& cases, const Points& at) {
  for (const auto& x : cases) {
    INFO(x.name);
    check_gradients(
        [&](Tape& tape, const std::vector<Var>& v) { return spread(tape, x.of(v[0], v[1])); }, at);
  }
}

Points gradients_of(const std::function<Var(const Var&)>& f, std::vector<double> at) {
  return gradient_at([&](Tape&, const std::vector<Var>& x) { return sum(f(x[0])); }, {at});
}

} // namespace

TEST_CASE("operations of one vector have the derivatives of central differences", "[losses]") {
  check_cases({{"negate", [](const Var& x, const Var&) { return -x; }},
               {"exp", [](const Var& x, const Var&) { return exp(x); }},
               {"log", [](const Var& x, const Var&) { return log(x + 4.0); }},
               {"log1p", [](const Var& x, const Var&) { return log1p(x * 0.2); }},
               {"expm1", [](const Var& x, const Var&) { return expm1(x); }},
               {"sqrt", [](const Var& x, const Var&) { return sqrt(x + 4.0); }},
               {"abs", [](const Var& x, const Var&) { return abs(x) * x; }},
               {"square", [](const Var& x, const Var&) { return square(x) * x; }},
               {"pow", [](const Var& x, const Var&) { return pow(x + 4.0, 2.7); }},
               {"pow of a negative", [](const Var& x, const Var&) { return pow(x, 3.0); }},
               {"sigmoid", [](const Var& x, const Var&) { return sigmoid(x); }},
               {"log_sigmoid", [](const Var& x, const Var&) { return log_sigmoid(x); }},
               {"tanh", [](const Var& x, const Var&) { return tanh(x); }},
               {"relu", [](const Var& x, const Var&) { return relu(x) * x; }},
               {"clamp", [](const Var& x, const Var&) { return clamp(x, -1.0, 1.0) * x; }},
               {"numbers on the right",
                [](const Var& x, const Var&) { return (x + 1.0 - 2.0) * 3.0 / 4.0; }},
               {"numbers on the left",
                [](const Var& x, const Var&) { return 1.0 + (2.0 - 3.0 * x) + 1.0 / (x + 5.0); }},
               {"min with a number", [](const Var& x, const Var&) { return min(x, 0.1) * x; }},
               {"max with a number", [](const Var& x, const Var&) { return max(x, 0.1) * x; }}},
              {{-2.5, -0.75, 0.5, 1.25}, {0.0}});
}

TEST_CASE("operations of two vectors have the derivatives of central differences", "[losses]") {
  const std::vector<Case> cases = {
      {"add", [](const Var& a, const Var& b) { return square(a + b); }},
      {"subtract", [](const Var& a, const Var& b) { return square(a - b); }},
      {"multiply", [](const Var& a, const Var& b) { return a * b; }},
      {"divide", [](const Var& a, const Var& b) { return a / (b + 4.0); }},
      {"min", [](const Var& a, const Var& b) { return min(a, b) * a; }},
      {"max", [](const Var& a, const Var& b) { return max(a, b) * b; }},
      {"where", [](const Var& a, const Var& b) { return where(greater(a, 0.0), a * a, exp(b)); }},
      {"dot", [](const Var& a, const Var& b) { return square(dot(a, b)); }},
      {"a vector used often",
       [](const Var& a, const Var& b) { return a * a + a * b - b / (a + 4.0); }},
  };
  check_cases(cases, {{-2.5, -0.75, 0.5, 1.25}, {0.25, -1.5, 2.0, 1.0}});
}

TEST_CASE("a scalar goes with a vector of any length, and its derivatives add up", "[losses]") {
  const std::vector<Case> cases = {
      {"add", [](const Var& a, const Var& b) { return square(sum(a) + b); }},
      {"subtract", [](const Var& a, const Var& b) { return square(b - sum(a)); }},
      {"multiply", [](const Var& a, const Var& b) { return mean(a) * b; }},
      {"divide", [](const Var& a, const Var& b) { return b / (mean(a) + 4.0); }},
      {"divide by a vector", [](const Var& a, const Var& b) { return mean(a) / (b + 4.0); }},
      {"min", [](const Var& a, const Var& b) { return min(mean(a), b) * b; }},
      {"max", [](const Var& a, const Var& b) { return max(b, mean(a)) * b; }},
      {"where",
       [](const Var& a, const Var& b) { return where(greater(b, 0.5), sum(a) * sum(b), b); }},
      {"where of two scalars",
       [](const Var& a, const Var& b) { return where(greater(b, 0.5), exp(sum(a)), mean(b)); }},
      {"fill", [](const Var& a, const Var& b) { return fill(square(sum(a)), b.size()) * b; }},
      {"a sum of what is no vector",
       [](const Var& a, const Var& b) { return sum(sum(a) * sum(b)); }},
  };
  check_cases(cases, {{-0.75, 0.5}, {0.25, -1.5, 2.0}});
}

TEST_CASE("reductions and parts have the derivatives of central differences", "[losses]") {
  const std::vector<Case> cases = {
      {"sum", [](const Var& a, const Var&) { return square(sum(a)); }},
      {"mean", [](const Var& a, const Var&) { return square(mean(a)); }},
      {"masked_sum",
       [](const Var& a, const Var& b) { return square(masked_sum(a, greater(b, 0.0))); }},
      {"logsumexp", [](const Var& a, const Var&) { return logsumexp(a); }},
      {"slice", [](const Var& a, const Var&) { return square(slice(a, 1, 3)); }},
      {"slices that overlap",
       [](const Var& a, const Var&) { return slice(a, 0, 3) * slice(a, 2, 3); }},
      {"element", [](const Var& a, const Var& b) { return element(a, 2) * b; }},
      {"join",
       [](const Var& a, const Var& b) {
         return square(join(std::vector{a, sum(b), b}));
       }},
      {"a joined vector with one slope",
       [](const Var& a, const Var& b) {
         return square(sum(join(std::vector{a, sum(b), b})));
       }},
      {"row_sum", [](const Var& a, const Var&) { return square(row_sum(a, 3)); }},
      {"row_repeat", [](const Var& a, const Var&) { return square(row_repeat(a, 3)); }},
      {"rows with one slope",
       [](const Var& a, const Var&) { return square(sum(row_repeat(row_sum(a, 2), 3))); }},
      {"row_logsumexp", [](const Var& a, const Var&) { return row_logsumexp(a, 2); }},
      {"matmul", [](const Var& a, const Var& b) { return square(matmul(a, b, 2)); }},
      {"matmul with one slope",
       [](const Var& a, const Var& b) { return square(sum(matmul(a, b, 3))); }},
      {"transpose", [](const Var& a, const Var& b) { return square(transpose(a, 3)) * b; }},
      {"a transposed matrix with one slope",
       [](const Var& a, const Var&) { return square(sum(transpose(a, 3))); }},
  };
  check_cases(cases, {{-2.5, -0.75, 0.5, 1.25, -1.0, 0.1}, {0.25, -1.5, 2.0, 1.0, -0.5, 0.3}});
}

TEST_CASE("rows and matrices lie row by row", "[losses]") {
  Tape tape;
  const auto x = tape.constant(std::vector<double>{1, 2, 3, 4, 5, 6});
  const auto numbers
      = [](const Var& v) { return std::vector<double>(v.values().begin(), v.values().end()); };
  CHECK(numbers(row_sum(x, 3)) == std::vector<double>{6, 15});
  CHECK(numbers(row_repeat(slice(x, 1, 2), 2)) == std::vector<double>{2, 2, 3, 3});
  CHECK(numbers(transpose(x, 3)) == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(numbers(matmul(x, transpose(x, 3), 3)) == std::vector<double>{14, 32, 32, 77});
}

TEST_CASE("a gradient does not flow through what is detached", "[losses]") {
  const auto slopes = gradients_of([](const Var& x) { return detach(x) * x; }, {2.0, -3.0});
  CHECK(slopes == Points{{2.0, -3.0}});
}

TEST_CASE("at a kink one side's derivative is taken", "[losses]") {
  CHECK(gradients_of([](const Var& x) { return abs(x); }, {0.0}) == Points{{0.0}});
  CHECK(gradients_of([](const Var& x) { return relu(x); }, {0.0}) == Points{{0.0}});
  CHECK(gradients_of([](const Var& x) { return clamp(x, -1.0, 1.0); }, {-1.0, 1.0, 1.5, -2.0})
        == Points{{1.0, 1.0, 0.0, 0.0}});
  CHECK(gradients_of([](const Var& x) { return min(3.0 * x, 2.0 * x); }, {0.0}) == Points{{3.0}});
  CHECK(gradients_of([](const Var& x) { return max(3.0 * x, 2.0 * x); }, {0.0}) == Points{{3.0}});
  CHECK(gradients_of([](const Var& x) { return sqrt(sum(square(x))); }, {0.0, 0.0})
        == Points{{0.0, 0.0}});
}

TEST_CASE("what a mask leaves out is without effect even if it is infinite", "[losses]") {
  const auto f = [](const Var& x) { return where(greater(x, 0.0), log(x), 0.0); };
  CHECK(gradients_of(f, {0.0, 2.0}) == Points{{0.0, 0.5}});
  Tape tape;
  const auto x = tape.constant(std::vector<double>{-infinity, 2.0});
  CHECK(masked_sum(x, tape.constant(std::vector<double>{0.0, 1.0})).value() == 2.0);
}

TEST_CASE("large numbers do not overflow where the result does not", "[losses]") {
  Tape tape;
  CHECK(log_sigmoid(tape.constant(-800.0)).value() == -800.0);
  CHECK(log_sigmoid(tape.constant(800.0)).value() == 0.0);
  CHECK(sigmoid(tape.constant(-800.0)).value() == 0.0);
  CHECK(logsumexp(tape.constant(std::vector<double>{1000.0, 1000.0})).value()
        == Catch::Approx(1000.0 + std::log(2.0)));
  CHECK(logsumexp(tape.constant(std::vector<double>{-infinity, -infinity})).value() == -infinity);
  CHECK(logsumexp(tape.constant(std::vector<double>{-infinity, 0.0})).value() == 0.0);
  CHECK(gradients_of([](const Var& x) { return log_sigmoid(x); }, {-800.0, 800.0})
        == Points{{1.0, 0.0}});
}

TEST_CASE("what is no number stays none", "[losses]") {
  Tape tape;
  const auto nan = tape.constant(std::numeric_limits<double>::quiet_NaN());
  const auto one = tape.constant(1.0);
  for (const auto& x : {min(nan, one), min(one, nan), max(nan, one), max(one, nan), relu(nan),
                        clamp(nan, 0.0, 1.0), abs(nan), log_sigmoid(nan)})
    CHECK(std::isnan(x.value()));
}

TEST_CASE("vectors without elements have sums and no mean", "[losses]") {
  Tape tape;
  const auto x = tape.variable(std::vector<double>{});
  const auto y = sum(exp(x) * 2.0) + dot(x, x) + sum(join(std::vector{x, x}));
  CHECK(y.value() == 0.0);
  const auto slopes = gradients(y, std::vector{x});
  CHECK(slopes[0].size() == 0);
  CHECK_FALSE(slopes[0].is_scalar());
  CHECK_THROWS_AS(mean(x), FormulaError);
  CHECK_THROWS_AS(logsumexp(x), FormulaError);
}

TEST_CASE("a variable that does not matter has zeros for its gradient", "[losses]") {
  Tape tape;
  const auto x = tape.variable(std::vector<double>{1.0, 2.0});
  const auto y = tape.variable(std::vector<double>{3.0});
  const auto later = exp(x);
  const auto slopes = gradients(sum(square(y)), std::vector{x, y, later});
  CHECK(slopes[0].values()[1] == 0.0);
  CHECK(slopes[0].size() == 2);
  CHECK(slopes[1].values()[0] == 6.0);
  CHECK(slopes[2].size() == 2);
}

TEST_CASE("misuse throws and names what is wrong", "[losses]") {
  Tape tape;
  Tape other;
  const auto two = tape.variable(std::vector<double>{1.0, 2.0});
  const auto three = tape.constant(std::vector<double>{1.0, 2.0, 3.0});
  const auto one = tape.constant(std::vector<double>{1.0});
  const auto foreign = other.variable(std::vector<double>{1.0, 2.0});
  CHECK_THROWS_WITH(two + three, "vectors of 2 and of 3 elements do not go together");
  CHECK_THROWS_AS(two + one, FormulaError);
  CHECK_THROWS_AS(dot(two, tape.constant(1.0)), FormulaError);
  CHECK_THROWS_WITH(two * foreign, "variables of two tapes are used together");
  CHECK_THROWS_AS(where(foreign, two, two), FormulaError);
  CHECK_THROWS_AS(where(two, two, two), FormulaError);
  CHECK_THROWS_AS(where(three, two, 0.0), FormulaError);
  CHECK_THROWS_AS(join(std::vector{two, foreign}), FormulaError);
  CHECK_THROWS_AS(join(std::vector<Var>{}), FormulaError);
  CHECK_THROWS_AS(gradients(sum(two), std::vector{foreign}), FormulaError);
  CHECK_THROWS_AS(gradients(two, std::vector{two}), FormulaError);
  CHECK_THROWS_AS(slice(two, 1, 2), FormulaError);
  CHECK_THROWS_AS(slice(two, 3, std::numeric_limits<std::size_t>::max()), FormulaError);
  CHECK_THROWS_AS(element(two, 2), FormulaError);
  CHECK_THROWS_AS(row_sum(three, 2), FormulaError);
  CHECK_THROWS_AS(row_sum(three, 0), FormulaError);
  CHECK_THROWS_AS(row_logsumexp(three, 2), FormulaError);
  CHECK_THROWS_AS(transpose(three, 2), FormulaError);
  CHECK_THROWS_AS(matmul(two, three, 2), FormulaError);
  CHECK_THROWS_AS(clamp(two, 1.0, 0.0), FormulaError);
  CHECK_THROWS_AS(two.value(), FormulaError);
  CHECK_THROWS_AS(Var{} + two, FormulaError);
  CHECK_THROWS_AS(Var{}.size(), FormulaError);
}

TEST_CASE("a variable outlives its tape", "[losses]") {
  Var kept;
  {
    Tape tape;
    kept = tape.variable(std::vector<double>{1.0, 2.0});
  }
  CHECK(sum(kept).value() == 3.0);
  Tape tape;
  CHECK_THROWS_AS(kept + tape.constant(1.0), FormulaError);
}

TEST_CASE("a tensor of any kind is a constant", "[losses]") {
  Tape tape;
  CHECK(sum(tape.constant(TensorData::of(std::vector<std::int64_t>{1, 2}))).value() == 3.0);
  CHECK(sum(tape.constant(TensorData::of(std::vector<float>{0.5F, 2}))).value() == 2.5);
  TensorData sparse;
  sparse.data = std::vector<float>{0.5F, 2.0F};
  sparse.shape = {2, 2};
  sparse.sparse = CsrIndices{{0, 1, 2}, {1, 0}};
  const auto dense = tape.constant(sparse);
  CHECK(dense.size() == 4);
  CHECK(dense.values()[1] == 0.5);
  sparse.sparse->col_indices = {1, 7};
  CHECK_THROWS_AS(tape.constant(sparse), FormulaError);
}

TEST_CASE("tapes on several threads do not disturb each other", "[losses]") {
  std::vector<Points> found(4);
  {
    std::vector<std::jthread> threads;
    for (auto& out : found)
      threads.emplace_back([&out] {
        for (int i = 0; i < 50; ++i)
          out = gradients_of([](const Var& x) { return exp(x) * log_sigmoid(x); }, {0.5, -1.0});
      });
  }
  for (const auto& out : found)
    CHECK(out == found[0]);
}

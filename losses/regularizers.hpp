// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "losses/formula.hpp"

#include <optional>
#include <string>
#include <variant>

// Terms to add to a loss, each a formula whose loss is the term's value. All of them see the
// log-probabilities of the target tokens and nothing else of the model: its weights and its inputs
// are at the service. `losses/regularized.hpp` puts them together.

namespace tinkaf::losses {

/// How the values of all elements (or rows) of all datums make one: their sum, or their sum by
/// their number (0 if there are none).
enum class Reduction : std::uint8_t { sum, mean };

/// Values to compare with: given for each datum, or the name of a field (`FormulaInput::field`).
using Reference = std::variant<TokenValues, std::string>;

/// What is penalized: p itself, or exp(p).
enum class Target : std::uint8_t { logprobs, probabilities };

struct L1Options {
  Target target = Target::logprobs;
  Reduction reduction = Reduction::sum;
};

/// |x|. Metrics: `l1_raw`, the sum; `l1_mean`.
[[nodiscard]] Formula l1_sparsity(const L1Options& options = {});

struct L2Options {
  Target target = Target::logprobs;

  /// Elements are kept within ± this bound first; above 0.
  std::optional<double> clip;

  /// Take the mean of all elements of the batch from each, before clipping.
  bool center = false;

  Reduction reduction = Reduction::sum;
};

/// x²
/// @returns `Errc::invalid_argument` for a clip that is not above 0
[[nodiscard]] Result<Formula> l2_weight_decay(const L2Options& options = {});

struct ElasticNetOptions {
  /// The share of |x|; that of x² is the rest. In [0, 1].
  double l1_ratio = 0.5;

  Target target = Target::logprobs;
  Reduction reduction = Reduction::sum;
};

/// l1_ratio |x| + (1 − l1_ratio) x²
/// @returns `Errc::invalid_argument` for a ratio outside [0, 1]
[[nodiscard]] Result<Formula> elastic_net(const ElasticNetOptions& options = {});

struct EntropyOptions {
  enum class Goal : std::uint8_t { minimize, maximize };
  Goal goal = Goal::minimize;

  /// Log-probabilities are divided by it; above 0.
  double temperature = 1.0;

  /// Divide by ln K, so that the most is 1.
  bool normalize = false;

  Reduction reduction = Reduction::mean;
};

/// Entropy H of each position, or −H where it is to be maximized. Metric: `entropy`, H.
///
/// For `target_tokens` of [tokens, K], H is that of the K listed tokens, scaled to add up to 1 at
/// the temperature. For [tokens], all that is known is the token's own share −p ln p (which grows
/// with p up to p = 1/e and falls from there); temperature and normalize then have no meaning and
/// the term fails.
/// @returns `Errc::invalid_argument` for a temperature that is not above 0
[[nodiscard]] Result<Formula> entropy(const EntropyOptions& options = {});

struct KlOptions {
  /// Log-probabilities of the same tokens under the reference.
  Reference reference;

  /// With P the policy and R the reference: KL(P‖R), KL(R‖P), or the mean of both.
  enum class Direction : std::uint8_t { forward, reverse, symmetric };
  Direction direction = Direction::forward;

  Reduction reduction = Reduction::mean;
};

/// The target tokens' share of the divergence: p (ln p − ln r) or r (ln r − ln p), summed over the
/// K tokens of a position. All of it only if the K tokens have all the probability.
/// @returns `Errc::invalid_argument` for a reference without a name
[[nodiscard]] Result<Formula> kl_divergence(KlOptions options);

struct ConsistencyOptions {
  /// Log-probabilities of the same tokens in another setting.
  Reference pair = "original_logprobs";

  /// (p − q)², |p − q|, exp(p)(p − q), or 1 − cos(p, q) of whole datums.
  enum class Measure : std::uint8_t { mse, mae, kl, cosine };
  Measure measure = Measure::mse;

  Reduction reduction = Reduction::mean;
};

/// Distance from the pair.
/// @returns `Errc::invalid_argument` for a pair without a name
[[nodiscard]] Result<Formula> consistency(ConsistencyOptions options);

struct OrthogonalityOptions {
  /// Without the diagonal, or with.
  enum class Mode : std::uint8_t { soft, hard };
  Mode mode = Mode::soft;

  /// Scale each datum to length 1 first.
  bool normalize = true;
};

/// Makes the datums' log-probabilities, as the rows of a matrix X, orthogonal: the sum of squares
/// of X Xᵀ − 1. All datums must have the same number of target tokens. The work grows with the
/// square of their number.
[[nodiscard]] Formula orthogonality(const OrthogonalityOptions& options = {});

struct GradientPenaltyOptions {
  /// The loss f whose gradient is penalized.
  Formula of;

  /// At least 0.
  double target_norm = 1.0;

  /// If given, the gradient is taken between the logprobs and these values.
  std::optional<Reference> interpolate_with;

  /// How far: 1 at the logprobs, 0 at the other values; in [0, 1].
  double share = 0.5;
};

/// (‖∂f/∂p‖ − target_norm)², over all log-probabilities p of the batch. Its own gradient is exact.
/// Metric: `norm`.
///
/// This is the gradient by the log-probabilities, the only one that can be had here; a penalty on
/// the gradient by the model's inputs or weights cannot be computed from them. A loss that is
/// linear in p, such as cross_entropy, has a constant gradient, and the term then changes nothing.
/// @returns `Errc::invalid_argument` if there is no f, or for a target or share out of bounds
[[nodiscard]] Result<Formula> gradient_penalty(GradientPenaltyOptions options);

} // namespace tinkaf::losses

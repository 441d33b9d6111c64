// SPDX-License-Identifier: Apache-2.0
//
// Asks two services for the same losses of the same base model, through our client.
//
// Usage: tinkaf_peer_losses URL MODEL PEER_URL PEER_MODEL
//
// A fresh adapter changes nothing, so the log-probabilities are those of the base model whatever
// the seed. The second service may leave out `loss:sum` and tell `elementwise_loss` in its place.

#include "client/service.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

using namespace tinkaf;

namespace {

constexpr double tolerance = 1e-4;

struct Case {
  const char* name;
  LossFn loss_fn = LossFn::cross_entropy;
  std::optional<LossFnConfig> config = {};
  std::vector<float> weights = {}; // cross-entropy
  bool reversed = false;           // the advantages' signs
};

struct Told {
  double loss = 0;
  std::vector<float> logprobs;
};

const std::vector<Token> prompt{40, 500, 61, 333, 7, 250, 12, 90};
const std::vector<std::int64_t> targets{500, 61, 333, 7, 250, 12, 90, 3};

/// How far the sampler's log-probabilities are from the model's: ratios within the usual bounds
/// of clipping, and on both sides of them.
const std::vector<float> offsets{0.0F, 0.1F, -0.1F, 0.5F, -0.5F, 0.3F, -0.3F, 0.05F};
const std::vector<float> advantages{1.0F, -1.0F, 0.5F, 2.0F, 1.5F, -0.5F, -2.0F, 0.0F};

TrainingClient connected(const char* url, const char* model) {
  ClientOptions options;
  options.base_url = url;
  options.api_key = "tml-conformance";
  auto service = Service::connect(options);
  if (service)
    if (auto training = service->create_lora_training_client(model, {.rank = 8, .seed = 1}))
      return *training;
    else
      std::fprintf(stderr, "%s: %s\n", url, to_string(training.error()).c_str());
  else
    std::fprintf(stderr, "%s: %s\n", url, to_string(service.error()).c_str());
  std::exit(1);
}

std::vector<float> floats(const ForwardBackwardOutput& output, const char* name) {
  const auto& fields = output.loss_fn_outputs.at(0);
  const auto found = fields.find(name);
  return found == fields.end() ? std::vector<float>{}
                               : std::get<std::vector<float>>(found->second.data);
}

Told ask(const TrainingClient& training, const Case& c, const std::vector<float>& sampled) {
  Datum datum{.model_input = ModelInput::from_ints(prompt),
              .loss_fn_inputs = {{"target_tokens", TensorData::of(targets)}}};
  if (c.loss_fn == LossFn::cross_entropy) {
    datum.loss_fn_inputs["weights"] = TensorData::of(c.weights);
  } else {
    auto signed_advantages = advantages;
    for (auto& x : signed_advantages)
      x = c.reversed ? -x : x;
    datum.loss_fn_inputs["logprobs"] = TensorData::of(sampled);
    datum.loss_fn_inputs["advantages"] = TensorData::of(signed_advantages);
  }
  const auto output
      = training.forward_backward(std::vector<Datum>{datum}, c.loss_fn, c.config).get();
  if (!output) {
    std::fprintf(stderr, "%s: %s\n", c.name, to_string(output.error()).c_str());
    std::exit(1);
  }
  Told told{.logprobs = floats(*output, "logprobs")};
  if (const auto sum = output->metrics.find("loss:sum"); sum != output->metrics.end()) {
    told.loss = sum->second;
  } else {
    const auto parts = floats(*output, "elementwise_loss");
    told.loss = parts.empty() ? std::numeric_limits<double>::quiet_NaN()
                              : std::accumulate(parts.begin(), parts.end(), 0.0);
  }
  return told;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty())
    return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a[i]) - b[i]));
  return most;
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s URL MODEL PEER_URL PEER_MODEL\n", argv[0]);
    return 2;
  }
  const auto ours = connected(argv[1], argv[2]);
  const auto peer = connected(argv[3], argv[4]);
  const std::vector<float> ones(targets.size(), 1.0F);
  const LossFnConfig narrow{{"clip_low_threshold", 0.9}, {"clip_high_threshold", 1.1}};
  const LossFnConfig wide{{"clip_low_threshold", 0.8}, {"clip_high_threshold", 1.2}};

  auto sampled = ask(ours, {.name = "cross_entropy", .weights = ones}, {}).logprobs;
  for (std::size_t i = 0; i < sampled.size(); ++i)
    sampled[i] -= offsets.at(i);

  const std::vector<Case> cases{
      {.name = "cross_entropy", .weights = ones},
      {.name = "cross_entropy, weighted", .weights = {0, 0.5F, 2, 0, 1, 0.25F, 1, 3}},
      {.name = "importance_sampling", .loss_fn = LossFn::importance_sampling},
      {.name = "ppo", .loss_fn = LossFn::ppo},
      {.name = "ppo, narrow", .loss_fn = LossFn::ppo, .config = narrow},
      {.name = "ppo, other signs", .loss_fn = LossFn::ppo, .config = wide, .reversed = true},
      {.name = "cispo", .loss_fn = LossFn::cispo, .config = wide},
  };
  bool equal = true;
  for (const auto& c : cases) {
    const auto a = ask(ours, c, sampled);
    const auto b = ask(peer, c, sampled);
    const auto off = std::abs(a.loss - b.loss);
    const auto logprobs_off = distance(a.logprobs, b.logprobs);
    const bool good = off <= tolerance && logprobs_off <= tolerance;
    equal = equal && good;
    std::printf("  %-26s %12.6f %12.6f   logprobs differ by %.1e   %s\n", c.name, a.loss, b.loss,
                logprobs_off, good ? "equal" : "DIFFERENT");
  }
  return equal ? 0 : 1;
}

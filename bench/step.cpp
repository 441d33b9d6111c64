// SPDX-License-Identifier: Apache-2.0
#include "client/service.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/peer_process.hpp"
#include <sys/resource.h>

namespace tinkaf::bench {

namespace {

constexpr int steps = 20;

Batch batch() {
  std::vector<Datum> data(128);
  for (auto& datum : data) {
    std::vector<Token> tokens(2048);
    std::vector<std::int64_t> targets(2048);
    for (std::size_t t = 0; t < tokens.size(); ++t) {
      tokens[t] = static_cast<Token>(t * 31 % 128'000);
      targets[t] = static_cast<std::int64_t>((t + 1) * 31 % 128'000);
    }
    datum.model_input = ModelInput::from_ints(std::move(tokens));
    datum.loss_fn_inputs = {{"target_tokens", TensorData::of(std::move(targets))},
                            {"weights", TensorData::of(std::vector<float>(2048, 1.0F))}};
  }
  return make_batch(std::move(data));
}

/// Processor time of this process so far, all threads, in milliseconds.
double processor_ms() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  auto ms = [](const timeval& x) {
    return static_cast<double>(x.tv_sec) * 1e3 + static_cast<double>(x.tv_usec) / 1e3;
  };
  return ms(use.ru_utime) + ms(use.ru_stime);
}

/// Milliseconds a step.
Result<double> ours(const std::string& url) {
  auto service = Service::connect({.base_url = url, .api_key = Secret{"tml-bench"}});
  if (!service)
    return fail(service.error());
  auto training = service->create_lora_training_client("any");
  if (!training)
    return fail(training.error());
  auto data = batch();
  auto begin = 0.0;
  for (int i = 0; i <= steps; ++i) {
    if (i == 1)
      begin = processor_ms(); // the first step warms up
    auto pass = training->forward_backward(data);
    auto step = training->optim_step();
    if (auto done = pass.get(); !done)
      return fail(done.error());
    if (auto done = step.get(); !done)
      return fail(done.error());
  }
  return (processor_ms() - begin) / steps;
}

/// The same by the official SDK; below 0 if it cannot be had.
double theirs(const std::string& python, const std::string& url) {
  auto script = std::string{TINKAF_BENCH_FOLDER} + "/sdk_step.py";
  auto command = fmt::format("'{}' '{}' '{}' {}", python, script, url, steps);
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> output{popen(command.c_str(), "r"), pclose};
  auto ms = -1.0;
  if (!output || std::fscanf(output.get(), "%lf", &ms) != 1)
    return -1.0;
  return ms;
}

} // namespace

void step() {
  auto peer = PeerProcess::start({"peer"});
  if (!peer) {
    fmt::print("no peer: {}\n", to_string(peer.error()));
    return;
  }
  auto ms = ours(peer->url());
  if (!ms) {
    fmt::print("a step failed: {}\n", to_string(ms.error()));
    return;
  }
  fmt::print("processor time of a step of 128 x 2048 tokens, submission to result\n"
             "  {:8.1f} ms  Tinkaf\n",
             *ms);
  const auto* python = std::getenv("TINKAF_SDK_PYTHON");
  if (python == nullptr) {
    fmt::print("  set TINKAF_SDK_PYTHON to a Python with the official SDK to compare\n");
    return;
  }
  if (auto sdk = theirs(python, peer->url()); sdk > 0)
    fmt::print("  {:8.1f} ms  official SDK, {:.1f} times as much\n", sdk, sdk / *ms);
  else
    fmt::print("  the official SDK gave no number\n");
}

} // namespace tinkaf::bench

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

namespace tinkaf::bench {

/// Calls `work` for about half a second and returns the mean time of a call, in seconds.
template <class Work>
double seconds_per_call(Work&& work) {
  using Clock = std::chrono::steady_clock;
  constexpr auto enough = std::chrono::milliseconds{500};
  work(); // warms up caches and lazy set-up
  std::size_t calls = 0;
  const auto begin = Clock::now();
  auto now = begin;
  do {
    work();
    ++calls;
    now = Clock::now();
  } while (now - begin < enough);
  return std::chrono::duration<double>{now - begin}.count() / static_cast<double>(calls);
}

/// Matrix products of the shapes of a training step, against the fastest large one.
void gemm();

/// Samples through the actors against a bare libcurl loop, at 1, 64 and 1024 in flight, and the
/// memory of 10,000.
void exchange();

/// Bodies of 128 x 2048 tokens: protobuf against memcpy, JSON against RapidJSON's bare writer.
void encoding();

/// Losses and gradients of 128 x 2048 log-probabilities from formulas.
void losses();

/// Training and sampling of a small model against the machine's peaks, and against PyTorch where
/// `TINKAF_REFERENCE_PYTHON` names a Python that has it.
void model();

/// What it costs to write a job's journal: each call, and a run like the demo's with and without.
void journal();

/// What it costs the local server to write down what it accepts, by the size of a record.
void server_log();

/// Memory and threads of a local server with 1,000 long polls open, and how soon it answers others.
void polls();

/// Memory, descriptors, threads and actors of a process with 200 training jobs, each minute.
/// @param time how long, from the moment on at which all are at work
void jobs(std::chrono::seconds time);

/// What `PeerProcess::start({"server", folder})` runs: the local server with a tiny random model.
[[nodiscard]] int be_small_server(const std::string& folder);

/// Processor time of a training step of 128 x 2048 tokens, submission to result, and that of the
/// official SDK where `TINKAF_SDK_PYTHON` names a Python that has it.
void step();

} // namespace tinkaf::bench

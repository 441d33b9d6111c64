// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/decoder.hpp"
#include "server/model/engine.hpp"
#include "server/model/prefix_cache.hpp"
#include "server/model/stop_rule.hpp"

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <vector>

namespace tinkaf::model {

/// How a sampler shares the machine.
struct SamplerOptions {
  /// Sequences that are continued together; others wait.
  std::size_t most_sequences = 64;

  /// What remembered beginnings of prompts may take; 0 remembers none.
  std::size_t cache_bytes = std::size_t{256} << 20;
};

/// Told of each token as it is drawn: which sequence of the request it belongs to, that sequence so
/// far, and whether it is complete. Called by whatever thread draws, never twice at the same time;
/// must neither block nor throw.
using TokenSink
    = std::function<void(std::size_t number, const SampledSequence& so_far, bool complete)>;

/// Draws samples of one base model and any adapters of it. Requests that come from several threads
/// are answered together, token by token: the base is read from memory once for all of them.
///
/// The bits of an answer depend on weights, request and seed alone: not on other requests, the
/// number of threads, or what the cache knows. Thread-safe.
class Sampler {
public:
  Sampler(std::shared_ptr<const BaseModel> base, std::shared_ptr<ThreadPool> pool,
          SamplerOptions options = {});
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  /// Draws continuations of a prompt; returns when they are complete. A request without a seed
  /// gets one. `prompt_cache_hit_tokens` of the answer says how much of the prompt was not read
  /// again.
  /// @param weights what to sample from; null for the base itself
  /// @param sink told of each token before this returns
  /// @returns `Errc::invalid_argument` for a bad request, `Errc::cancelled` when asked to stop
  [[nodiscard]] Result<SampleResponse> sample(std::shared_ptr<const AdapterWeights> weights,
                                              SampleRequest request, std::stop_token stop = {},
                                              TokenSink sink = {});

private:
  struct Job;
  struct Sequence;

  [[nodiscard]] Result<std::shared_ptr<Job>> make_job(std::shared_ptr<const AdapterWeights> weights,
                                                      SampleRequest request,
                                                      std::stop_token stop) const;

  // Called by the one thread that leads; what they touch is the leader's.
  void lead(const Job& own);
  void admit();
  void read_prompt(Job& job, ThreadPool* helpers);
  void draw_tokens();
  void read_tokens();

  /// Lets go of what is complete or asked to stop.
  /// @returns whether `own` is done
  bool finish(const Job& own);

  const std::shared_ptr<const BaseModel> base_;
  const std::shared_ptr<ThreadPool> pool_;
  const SamplerOptions options_;
  PrefixCache cache_;
  std::list<Sequence> sequences_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> waiting_;
  bool led_ = false;
};

} // namespace tinkaf::model

// SPDX-License-Identifier: Apache-2.0
#include "server/model/sampler.hpp"

#include "server/model/engine_input.hpp"
#include "server/model/prefill.hpp"
#include "server/model/random.hpp"
#include "server/model/token_choice.hpp"

#include <algorithm>
#include <utility>

namespace tinkaf::model {

namespace {

/// Below so many numbers, threads take sequences rather than parts of a product.
constexpr std::size_t small_model = std::size_t{1} << 24;

/// Working memory of this thread; large, so it is used again.
Prefill& thread_prefill() {
  thread_local Prefill prefill;
  return prefill;
}
Decoder& thread_decoder() {
  thread_local Decoder decoder;
  return decoder;
}

} // namespace

/// A request under way.
struct Sampler::Job {
  std::shared_ptr<const AdapterWeights> weights;
  WeightsView view;
  SampleRequest request;
  std::vector<std::int32_t> prompt;
  std::size_t limit = 0; ///< new tokens of each sequence
  std::stop_token stop;
  TokenSink sink;
  SampleResponse response;
  KeyValues memory;          ///< of the prompt
  std::vector<float> logits; ///< behind the prompt
  std::size_t open = 0;      ///< sequences that are not complete
  bool stopped = false;
  bool done = false; ///< guarded by the sampler's mutex
};

/// A continuation under way.
struct Sampler::Sequence {
  Sequence(std::shared_ptr<Job> of, std::size_t number, const BaseModel& base)
      : job(std::move(of)), index(number), out(&job->response.sequences[number]),
        memory(job->memory.fork()), logits(job->logits),
        rule(base, job->request.sampling_params.stop),
        random(mix(static_cast<std::uint64_t>(*job->request.sampling_params.seed), number)) {
    out->logprobs.emplace();
  }

  std::shared_ptr<Job> job;
  std::size_t index;
  SampledSequence* out;
  KeyValues memory;
  std::vector<float> logits; ///< of the next token
  StopRule rule;
  Random random;
  bool complete = false;
};

Sampler::Sampler(std::shared_ptr<const BaseModel> base, std::shared_ptr<ThreadPool> pool,
                 SamplerOptions options)
    : base_(std::move(base)), pool_(std::move(pool)), options_(options),
      cache_(options.cache_bytes) {}

Sampler::~Sampler() = default;

Result<std::shared_ptr<Sampler::Job>>
Sampler::make_job(std::shared_ptr<const AdapterWeights> weights, SampleRequest request,
                  std::stop_token stop) const {
  auto prompt = model::read_prompt(*base_, request);
  if (!prompt)
    return fail(prompt.error());
  const auto limit = token_limit(*base_, prompt->size(), request.sampling_params);
  if (!limit)
    return fail(limit.error());
  fix_seed(request);
  auto job = std::make_shared<Job>();
  job->weights = std::move(weights);
  job->view = job->weights ? job->weights->view() : base_->view();
  job->request = std::move(request);
  job->prompt = std::move(*prompt);
  job->limit = *limit;
  job->stop = std::move(stop);
  job->open = static_cast<std::size_t>(job->request.num_samples);
  job->response.sequences.resize(job->open);
  return job;
}

Result<SampleResponse> Sampler::sample(std::shared_ptr<const AdapterWeights> weights,
                                       SampleRequest request, std::stop_token stop,
                                       TokenSink sink) {
  const auto made = make_job(std::move(weights), std::move(request), std::move(stop));
  if (!made)
    return fail(made.error());
  const auto& job = *made;
  job->sink = std::move(sink);
  std::unique_lock lock{mutex_};
  waiting_.push_back(job);
  // Whoever finds nobody at work does it, for all, until its own samples are complete.
  while (!job->done) {
    if (led_) {
      changed_.wait(lock);
      continue;
    }
    led_ = true;
    lock.unlock();
    lead(*job);
    lock.lock();
    led_ = false;
    changed_.notify_all();
  }
  if (job->stopped)
    return fail(Errc::cancelled, "stopped before all samples were complete");
  return std::move(job->response);
}

void Sampler::lead(const Job& own) {
  // The token that each sequence drew last is read first, as another leader may have drawn it.
  do {
    read_tokens();
    admit();
    draw_tokens();
  } while (!finish(own));
}

void Sampler::admit() {
  std::vector<std::shared_ptr<Job>> coming;
  {
    const std::lock_guard lock{mutex_};
    auto count = sequences_.size();
    while (!waiting_.empty()
           && (count == 0 || count + waiting_.front()->open <= options_.most_sequences)) {
      count += waiting_.front()->open;
      coming.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
  }
  if (coming.size() >= pool_->size())
    pool_->run(coming.size(), [&](std::size_t i) { read_prompt(*coming[i], nullptr); });
  else
    for (const auto& job : coming)
      read_prompt(*job, pool_.get());
  for (const auto& job : coming)
    for (std::size_t i = 0; i < job->response.sequences.size(); ++i)
      sequences_.emplace_back(job, i, *base_);
}

void Sampler::read_prompt(Job& job, ThreadPool* helpers) {
  const auto k = static_cast<std::size_t>(job.request.topk_prompt_logprobs);
  const bool all = job.request.include_prompt_logprobs || k > 0;
  auto& out = job.response;
  if (job.request.include_prompt_logprobs)
    out.prompt_logprobs.emplace(1);
  if (k > 0)
    out.topk_prompt_logprobs.emplace(1);
  // Logits inside the prompt want all of it read.
  if (!all)
    job.memory = cache_.find(job.weights, job.prompt);
  out.prompt_cache_hit_tokens = static_cast<std::int32_t>(job.memory.length);
  const auto read = [&](std::size_t i, std::span<float> row) {
    if (i + 1 == job.prompt.size()) {
      job.logits.assign(row.begin(), row.end());
      return;
    }
    if (out.prompt_logprobs)
      out.prompt_logprobs->push_back(tempered_logprob(row, job.prompt[i + 1], 1.0));
    if (out.topk_prompt_logprobs)
      out.topk_prompt_logprobs->push_back(likeliest(row, k));
  };
  if (!thread_prefill().run(job.view, base_->rope(), job.prompt, all, read, job.memory, helpers,
                            job.stop)) {
    job.logits.assign(base_->vocab_size(), 0.0F); // nobody will look at what is drawn from it
    return;
  }
  cache_.keep(job.weights, job.prompt, job.memory);
}

void Sampler::draw_tokens() {
  std::vector<Sequence*> all;
  for (auto& x : sequences_)
    all.push_back(&x);
  pool_->run(all.size(), [&](std::size_t i) {
    auto& x = *all[i];
    const auto& params = x.job->request.sampling_params;
    const auto drawn = draw(x.logits, params, x.random.uniform());
    x.out->tokens.push_back(drawn.token);
    x.out->logprobs->push_back(drawn.logprob);
    const bool ends = x.rule.ends(drawn.token);
    if (ends)
      x.out->stop_reason = StopReason::stop;
    x.complete = ends || x.out->tokens.size() == x.job->limit;
  });
  for (const auto& x : sequences_)
    if (x.job->sink && !x.job->stop.stop_requested())
      x.job->sink(x.index, *x.out, x.complete);
}

bool Sampler::finish(const Job& own) {
  bool any = false;
  const std::lock_guard lock{mutex_};
  for (auto x = sequences_.begin(); x != sequences_.end();) {
    auto& job = *x->job;
    job.stopped = job.stopped || job.stop.stop_requested();
    if (!x->complete && !job.stopped) {
      ++x;
      continue;
    }
    if (--job.open == 0) {
      job.done = true;
      any = true;
    }
    x = sequences_.erase(x);
  }
  if (any)
    changed_.notify_all();
  return own.done;
}

void Sampler::read_tokens() {
  std::vector<DecodeRow> rows;
  for (auto& x : sequences_)
    rows.push_back({x.job->view, &x.memory, x.out->tokens.back(), &x.logits});
  const bool small = base_->layout().size < small_model;
  const auto parts = small ? std::min(pool_->size(), rows.size()) : 1;
  if (parts < 2) {
    thread_decoder().step(rows, base_->rope(), small ? nullptr : pool_.get());
    return;
  }
  pool_->run(parts, [&](std::size_t i) {
    const auto begin = rows.size() * i / parts;
    const auto end = rows.size() * (i + 1) / parts;
    thread_decoder().step(std::span{rows}.subspan(begin, end - begin), base_->rope(), nullptr);
  });
}

} // namespace tinkaf::model

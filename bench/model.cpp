// SPDX-License-Identifier: Apache-2.0
#include "server/model/engine.hpp"
#include "server/model/kernels.hpp"
#include "server/model/random_model.hpp"
#include "server/model/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "bench/benchmarks.hpp"

namespace tinkaf::bench {

namespace {

using namespace model;
using Clock = std::chrono::steady_clock;

constexpr std::size_t batch = 8;
constexpr std::size_t length = 256;
constexpr std::int32_t rank = 32;
constexpr int new_tokens = 64;

/// About 34 million parameters: large enough that products count, small enough to wait for.
ModelConfig shape() {
  ModelConfig c;
  c.vocab_size = 8192;
  c.hidden_size = 512;
  c.intermediate_size = 1408;
  c.num_hidden_layers = 8;
  c.num_attention_heads = 8;
  c.num_key_value_heads = 4;
  c.head_dim = 64;
  c.max_position_embeddings = 512;
  c.eos_token_ids = {};
  return c;
}

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>{Clock::now() - begin}.count();
}

std::vector<Token> tokens(std::size_t seed, std::size_t count) {
  std::vector<Token> out(count);
  for (std::size_t i = 0; i < count; ++i)
    out[i] = static_cast<Token>((seed * 7919 + i * 104729) % shape().vocab_size);
  return out;
}

/// The fastest large product on all threads, in operations a second.
double product_peak(ThreadPool& pool) {
  constexpr std::size_t n = 1024;
  const std::vector<float> a(n * n, 0.5F);
  std::vector<std::vector<float>> c(pool.size(), std::vector<float>(n * n));
  const auto seconds = seconds_per_call([&] {
    pool.run(pool.size(), [&](std::size_t i) {
      kernels::gemm(n, n, n, 1.0F, {a.data(), n}, {a.data(), n, kernels::Op::transposed}, 0.0F,
                    c[i].data(), n);
    });
  });
  return 2.0 * n * n * n * static_cast<double>(pool.size()) / seconds;
}

/// Bytes a second that all threads together read from memory.
double read_bandwidth(ThreadPool& pool) {
  const std::vector<float> data(std::size_t{64} << 20, 1.0F);
  const auto part = data.size() / pool.size();
  std::vector<float> sums(pool.size());
  const auto seconds = seconds_per_call([&] {
    pool.run(pool.size(), [&](std::size_t i) {
      sums[i] = kernels::dot(part, data.data() + i * part, data.data() + i * part);
    });
  });
  return static_cast<double>(part * pool.size() * sizeof(float)) / seconds;
}

/// Seconds of a forward_backward of the batch.
double train(const std::shared_ptr<const BaseModel>& base, ThreadPool& pool) {
  LoraConfig config;
  config.rank = rank;
  config.seed = 1;
  auto adapter = Adapter::create(base, config).value();
  std::vector<Datum> data;
  for (std::size_t i = 0; i < batch; ++i) {
    const auto text = tokens(i, length + 1);
    Datum datum;
    datum.model_input = ModelInput::from_ints({text.begin(), text.end() - 1});
    datum.loss_fn_inputs["target_tokens"]
        = TensorData::of(std::vector<std::int64_t>{text.begin() + 1, text.end()});
    datum.loss_fn_inputs["weights"] = TensorData::of(std::vector<float>(length, 1.0F));
    data.push_back(std::move(datum));
  }
  return seconds_per_call([&] {
    if (!forward_backward(adapter, data, LossFn::cross_entropy, {}, false, pool))
      std::abort();
  });
}

/// Seconds in which so many requests side by side draw their tokens.
double draw(const std::shared_ptr<const BaseModel>& base, const std::shared_ptr<ThreadPool>& pool,
            std::size_t requests) {
  Sampler sampler{base, pool, {.cache_bytes = 0}};
  const auto all = [&](int count) {
    std::vector<std::thread> clients;
    for (std::size_t i = 0; i < requests; ++i)
      clients.emplace_back([&, i] {
        SampleRequest request;
        request.prompt = ModelInput::from_ints(tokens(i, 16));
        request.sampling_params.max_tokens = count;
        request.sampling_params.temperature = 0.0;
        if (!sampler.sample(nullptr, request))
          std::abort();
      });
    for (auto& client : clients)
      client.join();
  };
  // The prompt's share is taken off.
  const auto prompt = seconds_per_call([&] { all(1); });
  const auto begin = Clock::now();
  all(new_tokens + 1);
  return std::max(1e-9, seconds_since(begin) - prompt);
}

/// What PyTorch takes for the same: seconds of training, of one sample, of sixteen; empty if there
/// is no Python that has it.
std::vector<double> theirs(const std::filesystem::path& folder, std::size_t threads) {
  const auto* python = std::getenv("TINKAF_REFERENCE_PYTHON");
  if (python == nullptr)
    return {};
  const auto command
      = fmt::format("'{}' '{}/torch_model.py' '{}' {} {} {} {} {}", python, TINKAF_BENCH_FOLDER,
                    folder.string(), threads, batch, length, rank, new_tokens);
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> output{popen(command.c_str(), "r"), pclose};
  std::vector<double> out(3);
  if (!output
      || std::fscanf(output.get(), "%lf %lf %lf", out.data(), out.data() + 1, out.data() + 2) != 3)
    return {};
  return out;
}

void compare(const char* what, double ours, const std::vector<double>& all, std::size_t which) {
  if (!all.empty())
    fmt::print("      {:4.2f} times as fast as PyTorch at {}\n", all[which] / ours, what);
}

} // namespace

void model() {
  const auto pool = std::make_shared<ThreadPool>();
  const auto folder = std::filesystem::temp_directory_path() / "tinkaf-bench-model";
  if (!write_random_model(folder, shape())) {
    fmt::print("cannot write {}\n", folder.string());
    return;
  }
  const auto base = BaseModel::load(folder).value();
  const auto packed = BaseModel::load(folder, {}, {.pack_above = 0}).value();
  const auto& layout = base->layout();
  const auto peak = product_peak(*pool);
  const auto bandwidth = read_bandwidth(*pool);
  const auto torch = theirs(folder, pool->size());
  fmt::print(
      "a model of {:.1f} million parameters, {} threads; products reach {:.0f} GFLOP/s, reads "
      "{:.1f} GB/s\n",
      static_cast<double>(layout.size) / 1e6, pool->size(), peak / 1e9, bandwidth / 1e9);

  // Of each weight: two operations a token forwards, two backwards; an adapter's weights two more.
  const auto matrices = static_cast<double>(layout.size - layout.vectors
                                            - shape().vocab_size * shape().hidden_size);
  const AdapterLayout adapter{shape(), rank, true, true, true};
  const auto tokens_of_batch = static_cast<double>(batch * length);
  const auto work = tokens_of_batch * (4.0 * matrices + 6.0 * static_cast<double>(adapter.size));
  const auto trained = train(base, *pool);
  fmt::print(
      "  {:7.1f} ms  forward_backward of {} x {} tokens, rank {}: {:.0f} tokens/s, {:.2f} of "
      "the peak\n",
      trained * 1e3, batch, length, rank, tokens_of_batch / trained, work / trained / peak);
  compare("forward_backward", trained, torch, 0);

  for (const auto& [name, which] : {std::pair{"float32", base}, std::pair{"bfloat16", packed}})
    for (const std::size_t requests : {1U, 16U}) {
      const auto took = draw(which, pool, requests);
      const auto bytes = static_cast<double>(which->weight_bytes())
                         * (matrices / static_cast<double>(layout.size - layout.vectors));
      fmt::print("  {:7.1f} tokens/s  {} samples at once, {}: {:.2f} of what reading the weights "
                 "once a step allows\n",
                 static_cast<double>(requests * new_tokens) / took, requests, name,
                 new_tokens * bytes / took / bandwidth);
      if (which == base)
        compare("sampling", took, torch, requests == 1 ? 1 : 2);
    }
  if (torch.empty())
    fmt::print("  set TINKAF_REFERENCE_PYTHON to the Python of `./dev reference` to compare with "
               "PyTorch\n");
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}

} // namespace tinkaf::bench

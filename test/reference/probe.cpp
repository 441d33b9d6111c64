// SPDX-License-Identifier: Apache-2.0
//
// Prints what our model and tokenizer compute, for a program that knows the right answers:
//
//   tinkaf_probe model MODEL ADAPTER TOKENS OUT    logits, log-probabilities, gradients
//   tinkaf_probe greedy MODEL TOKENS COUNT         the likeliest continuation, ids on one line
//   tinkaf_probe encode TOKENIZER TEXT OUT         ids as int32; prints the seconds that it took
//   tinkaf_probe decode TOKENIZER IDS OUT          bytes of int32 ids
//
// TOKENS is a file with ids separated by blanks; a pass predicts each from those before it.
#include "server/model/adapter.hpp"
#include "server/model/engine.hpp"
#include "server/model/safetensors.hpp"
#include "server/model/sampler.hpp"
#include "text/tokenizer.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace tinkaf;
using namespace tinkaf::model;

int complain(const Error& error) {
  fmt::print(stderr, "{}\n", to_string(error));
  return 1;
}

std::string read_bytes(const char* file) {
  std::ifstream in{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

void write_bytes(const char* file, const void* data, std::size_t size) {
  std::ofstream{file, std::ios::binary}.write(static_cast<const char*>(data),
                                              static_cast<std::streamsize>(size));
}

std::vector<Token> read_tokens(const char* file) {
  std::ifstream in{file};
  return {std::istream_iterator<Token>{in}, {}};
}

/// Bases in test are small; the packed form is to be tried all the same where the file allows it.
LoadOptions options() {
  LoadOptions out;
  out.pack_above = 0;
  return out;
}

int run_model(const char* folder, const char* adapter_folder, const char* tokens_file,
              const char* out_file) {
  auto base = BaseModel::load(folder, "reference", options());
  if (!base)
    return complain(base.error());
  auto adapter = Adapter::load(*base, adapter_folder, false);
  if (!adapter)
    return complain(adapter.error());
  const auto tokens = read_tokens(tokens_file);
  const std::vector<Token> inputs{tokens.begin(), tokens.end() - 1};

  const auto vocab = (*base)->vocab_size();
  std::vector<float> logits;
  SequencePass pass;
  pass.forward(adapter->weights().view(), (*base)->rope(), inputs);
  pass.read_logits(adapter->weights().view(), [&](std::size_t, std::span<float> row) {
    logits.insert(logits.end(), row.begin(), row.end());
  });

  Datum datum;
  datum.model_input = ModelInput::from_ints(inputs);
  datum.loss_fn_inputs["target_tokens"]
      = TensorData::of(std::vector<std::int64_t>{tokens.begin() + 1, tokens.end()});
  datum.loss_fn_inputs["weights"] = TensorData::of(std::vector<float>(inputs.size(), 1.0F));
  ThreadPool pool{2};
  const auto output
      = forward_backward(*adapter, {&datum, 1}, LossFn::cross_entropy, {}, false, pool);
  if (!output)
    return complain(output.error());
  const auto& logprobs = *output->loss_fn_outputs.at(0).at("logprobs").floats();

  std::vector<TensorSource> sources{{"logits", {inputs.size(), vocab}, logits},
                                    {"logprobs", {inputs.size()}, logprobs}};
  const auto& layout = adapter->weights().layout();
  const std::span<const float> gradient = adapter->gradient();
  for (const auto& x : layout.linears) {
    sources.push_back({x.name + ".lora_A.weight",
                       {layout.rank, x.in},
                       gradient.subspan(x.a, layout.rank * x.in)});
    sources.push_back({x.name + ".lora_B.weight",
                       {x.out, layout.rank},
                       gradient.subspan(x.b, x.out * layout.rank)});
  }
  if (auto done = write_safetensors(out_file, sources, StoredType::f32, {}); !done)
    return complain(done.error());
  return 0;
}

int run_greedy(const char* folder, const char* tokens_file, const char* count) {
  auto base = BaseModel::load(folder, "reference", options());
  if (!base)
    return complain(base.error());
  SampleRequest request;
  request.prompt = ModelInput::from_ints(read_tokens(tokens_file));
  request.sampling_params.max_tokens = std::stoi(count);
  request.sampling_params.temperature = 0.0;
  Sampler sampler{*base, std::make_shared<ThreadPool>(2)};
  const auto response = sampler.sample(nullptr, request);
  if (!response)
    return complain(response.error());
  fmt::print("{}\n", fmt::join(response->sequences.at(0).tokens, " "));
  return 0;
}

int run_encode(const char* tokenizer_file, const char* text_file, const char* out_file) {
  const auto tokenizer = text::Tokenizer::load(tokenizer_file);
  if (!tokenizer)
    return complain(tokenizer.error());
  const auto text = read_bytes(text_file);
  const auto begin = std::chrono::steady_clock::now();
  const auto ids = tokenizer->encode(text);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  write_bytes(out_file, ids.data(), ids.size() * sizeof ids[0]);
  fmt::print("{:.4f}\n", took.count());
  return 0;
}

int run_decode(const char* tokenizer_file, const char* ids_file, const char* out_file) {
  const auto tokenizer = text::Tokenizer::load(tokenizer_file);
  if (!tokenizer)
    return complain(tokenizer.error());
  const auto bytes = read_bytes(ids_file);
  std::vector<std::int32_t> ids(bytes.size() / sizeof(std::int32_t));
  std::memcpy(ids.data(), bytes.data(), ids.size() * sizeof ids[0]);
  const auto text = tokenizer->decode(ids);
  write_bytes(out_file, text.data(), text.size());
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view word = argc > 1 ? argv[1] : "";
  if (word == "model" && argc == 6)
    return run_model(argv[2], argv[3], argv[4], argv[5]);
  if (word == "greedy" && argc == 5)
    return run_greedy(argv[2], argv[3], argv[4]);
  if (word == "encode" && argc == 5)
    return run_encode(argv[2], argv[3], argv[4]);
  if (word == "decode" && argc == 5)
    return run_decode(argv[2], argv[3], argv[4]);
  fmt::print(stderr, "usage: see the head of probe.cpp\n");
  return 2;
}

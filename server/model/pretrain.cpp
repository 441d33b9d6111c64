// SPDX-License-Identifier: Apache-2.0
#include "server/model/pretrain.hpp"

#include "server/model/atomic_file.hpp"
#include "server/model/base_model.hpp"
#include "server/model/config_file.hpp"
#include "server/model/full_training.hpp"
#include "server/model/token_stream.hpp"
#include "text/bpe_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace tinkaf::model {

namespace {

namespace fs = std::filesystem;

Result<void> make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    return fail(Errc::io_error,
                fmt::format("cannot create {}: {}", folder.string(), error.message()));
  return {};
}

/// What Hugging Face's transformers are told of `tokenizer.json`: to take it as it is.
constexpr std::string_view tokenizer_settings = R"({
  "tokenizer_class": "PreTrainedTokenizerFast",
  "bos_token": "<|endoftext|>",
  "eos_token": "<|endoftext|>",
  "clean_up_tokenization_spaces": false
}
)";

double learning_rate(const PretrainOptions& options, std::size_t step) {
  const auto at = static_cast<double>(step);
  const auto end = static_cast<double>(options.steps);
  const double rise
      = (at + 1.0) / static_cast<double>(std::max<std::size_t>(1, options.warmup_steps));
  const double fall = (end - at) / std::max(1.0, end * options.decay_share);
  return options.learning_rate * std::min({1.0, rise, fall});
}

/// The vocabulary of the run: learned once, then read from the work folder.
Result<text::Tokenizer> tokenizer_of(const PretrainOptions& options,
                                     const std::vector<Document>& documents) {
  const auto file = options.work / "tokenizer.json";
  if (fs::exists(file))
    return text::Tokenizer::load(file);
  std::vector<std::string> texts;
  for (const auto& document : documents)
    texts.push_back(document.text);
  text::BpeOptions bpe;
  bpe.vocab_size = options.config.vocab_size;
  const auto json = text::train_bpe(texts, bpe);
  if (!json)
    return fail(json.error());
  if (auto done = write_text_file(file, *json); !done)
    return fail(done.error());
  return text::Tokenizer::parse(*json, file.string());
}

class Run {
public:
  Run(const PretrainOptions& options, TokenStream stream)
      : options_(options), stream_(std::move(stream)), pool_(options.threads),
        model_(options.config, options.seed) {}

  Result<void> resume() {
    const auto file = options_.work / "state.safetensors";
    return fs::exists(file) ? model_.load(file) : Result<void>{};
  }

  Result<void> train(const std::function<void(const PretrainProgress&)>& report,
                     const std::stop_token& stop) {
    auto saved = std::chrono::steady_clock::now();
    double loss = 0.0;
    std::size_t steps = 0;
    while (model_.step_count() < options_.steps) {
      const auto step = model_.step_count();
      const auto windows = windows_of_step(stream_.training, step, options_.sequences_per_step,
                                           options_.config.max_position_embeddings, options_.seed);
      loss += model_.step(windows, learning_rate(options_, step), options_.weight_decay, pool_);
      ++steps;
      const auto now = std::chrono::steady_clock::now();
      const bool last = model_.step_count() == options_.steps;
      const bool save = last || stop.stop_requested() || now - saved >= options_.between_saves;
      if (!save && steps < options_.steps_between_reports)
        continue;
      PretrainProgress progress{
          model_.step_count(), options_.steps, loss / static_cast<double>(steps), {}};
      if (save) {
        if (auto done = write_model(); !done)
          return done;
        progress.held_out = held_out_loss();
        saved = now;
      }
      report(progress);
      loss = 0.0;
      steps = 0;
      if (stop.stop_requested() && !last)
        return fail(Errc::cancelled,
                    fmt::format("stopped after step {}; the same call goes on from there",
                                model_.step_count()));
    }
    return {};
  }

private:
  Result<void> write_model() {
    if (auto done = model_.save(options_.work / "state.safetensors"); !done)
      return done;
    if (auto done
        = save_weights(options_.output / "model.safetensors", model_.layout(), model_.weights());
        !done)
      return done;
    return write_config(options_.output / "config.json", {options_.name, options_.config});
  }

  std::map<std::string, double> held_out_loss() {
    std::map<std::string, double> out;
    double nats = 0.0;
    std::size_t bytes = 0;
    for (const auto& [source, held] : stream_.held_out) {
      const double sum = model_.loss(held.tokens, pool_);
      out[source] = sum / static_cast<double>(held.bytes);
      nats += sum;
      bytes += held.bytes;
    }
    out[""] = nats / static_cast<double>(std::max<std::size_t>(1, bytes));
    return out;
  }

  const PretrainOptions& options_;
  TokenStream stream_;
  ThreadPool pool_;
  FullTraining model_;
};

} // namespace

ModelConfig PretrainOptions::default_shape() {
  ModelConfig c;
  c.vocab_size = 1024;
  c.hidden_size = 256;
  c.intermediate_size = 688;
  c.num_hidden_layers = 4;
  c.num_attention_heads = 8;
  c.num_key_value_heads = 4;
  c.head_dim = 32;
  c.max_position_embeddings = 512;
  return c;
}

Result<void> pretrain(const PretrainOptions& options,
                      const std::function<void(const PretrainProgress&)>& report,
                      std::stop_token stop) {
  for (const auto& folder : {options.output, options.work})
    if (auto done = make_folder(folder); !done)
      return done;
  auto documents = read_corpus(options.corpus);
  if (!documents)
    return fail(documents.error());
  const auto tokenizer = tokenizer_of(options, *documents);
  if (!tokenizer)
    return fail(tokenizer.error());
  std::error_code error;
  fs::copy_file(options.work / "tokenizer.json", options.output / "tokenizer.json",
                fs::copy_options::overwrite_existing, error);
  if (error)
    return fail(Errc::io_error,
                fmt::format("cannot write {}: {}", (options.output / "tokenizer.json").string(),
                            error.message()));
  if (auto done = write_text_file(options.output / "tokenizer_config.json", tokenizer_settings);
      !done)
    return done;
  Run run{options, make_stream(std::move(*documents), *tokenizer,
                               options.config.eos_token_ids.front(), options.seed)};
  if (auto done = run.resume(); !done)
    return done;
  return run.train(report, stop);
}

} // namespace tinkaf::model

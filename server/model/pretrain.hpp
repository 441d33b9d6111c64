// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "server/model/corpus.hpp"
#include "server/model/model_config.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <stop_token>
#include <string>

namespace tinkaf::model {

/// How a base model is made from nothing. The defaults make the shipped one.
struct PretrainOptions {
  /// Where the finished model goes: `config.json`, `model.safetensors`, `tokenizer.json`.
  std::filesystem::path output;

  /// Where the state is kept from time to time; a run that finds one there goes on from it.
  std::filesystem::path work;

  CorpusOptions corpus;
  std::string name = "tinkaf/tiny";
  ModelConfig config = default_shape();

  std::size_t steps = 5600;
  std::size_t sequences_per_step = 8;
  double learning_rate = 3e-3;
  double weight_decay = 0.1;

  /// The rate rises over the first steps and falls to zero over the last part of the run.
  std::size_t warmup_steps = 100;
  double decay_share = 0.3;

  std::uint64_t seed = 1;

  /// 0 takes the number of cores.
  std::size_t threads = 0;

  std::size_t steps_between_reports = 50;
  std::chrono::seconds between_saves{180};

  [[nodiscard]] static ModelConfig default_shape();
};

struct PretrainProgress {
  std::size_t step = 0;
  std::size_t steps = 0;

  /// Mean loss per token over the last steps, in nats.
  double training_loss = 0.0;

  /// Loss of the held-out texts in nats per byte: over all (name "") and by source. Filled only
  /// when the state was saved.
  std::map<std::string, double> held_out;
};

/// Trains a base model with all its weights on the texts of `read_corpus`, 2 % of which are held
/// out. The result depends on the packages and the options, not on the number of threads. Asked to
/// stop, it saves its state first.
/// @returns `Errc::io_error` for missing texts or an unwritable folder; `Errc::invalid_argument`
/// for
///          a state of another shape; `Errc::cancelled` when stopped
[[nodiscard]] Result<void> pretrain(const PretrainOptions& options,
                                    const std::function<void(const PretrainProgress&)>& report,
                                    std::stop_token stop);

} // namespace tinkaf::model

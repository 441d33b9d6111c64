// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/trainer.hpp"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tinkaf::test {

/// A trainer that learns tokens by heart: a pass gathers the first token of each datum, a step adds
/// what is gathered to what is learned, and a sample is what is learned, then the seed.
///
/// A pass over the token 13 fails, one over 66 throws, one over a token beyond 999 is refused
/// beforehand. A full disk can be played. All computing can be held.
class ScriptedTrainer : public server::Trainer {
public:
  explicit ScriptedTrainer(std::string name = "scripted") : name_(std::move(name)) {}

  /// Makes all that is computed from now on wait for `release`.
  void hold();
  void release();

  /// Makes all checks of data from now on wait for `release`.
  void hold_checks();

  /// Waits until so many checks are held.
  void wait_for_held_checks(std::size_t count);

  /// Waits until `count` pieces of work have begun since the start.
  void wait_for_begun(std::size_t count);

  /// What was computed, in order, for example "forward_backward 7 8" or "optim_step".
  [[nodiscard]] std::vector<std::string> log() const;

  /// How many models there are in memory.
  [[nodiscard]] int models() const {
    return models_;
  }

  void fill_disk();

  // Trainer.
  std::string name() const override {
    return name_;
  }
  std::string arch() const override {
    return "scripted";
  }
  std::int64_t max_context_length() const override {
    return 64;
  }
  Result<void> check_loss_config(LossFn loss_fn,
                                 const std::optional<LossFnConfig>& config) const override;
  Result<void> check_datum(const Datum& datum, LossFn loss_fn, std::size_t index) const override;
  Result<void> check_sample(const SampleRequest& request) const override;
  Result<std::unique_ptr<server::TrainedModel>> create(const LoraConfig& config) override;
  Result<std::unique_ptr<server::TrainedModel>> load(const std::filesystem::path& folder,
                                                     bool with_optimizer) override;
  Result<std::unique_ptr<server::TrainedModel>>
  restore(const std::filesystem::path& folder) override;
  Result<std::shared_ptr<const server::Snapshot>>
  load_snapshot(const std::filesystem::path& folder) override;
  Result<SampleResponse> sample(const std::shared_ptr<const server::Snapshot>& weights,
                                const SampleRequest& request, std::stop_token stop,
                                const server::TokenSink& sink) override;

private:
  friend class ScriptedModel;

  /// Logs, and waits while computing is held.
  [[nodiscard]] Result<void> begin(std::string what, const std::stop_token& stop);

  std::string name_;
  std::atomic<int> models_ = 0;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::vector<std::string> log_;
  bool held_ = false;
  bool checks_held_ = false;
  mutable std::size_t held_checks_ = 0; // how many wait
  bool disk_full_ = false;
};

} // namespace tinkaf::test

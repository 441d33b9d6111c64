// SPDX-License-Identifier: Apache-2.0
#include "test/server/scripted_trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace tinkaf::test {

namespace fs = std::filesystem;

namespace {

struct Learned : server::Snapshot {
  explicit Learned(std::vector<Token> x) : tokens(std::move(x)) {}
  std::vector<Token> tokens;
};

Token first_token(const Datum& datum) {
  const auto tokens = to_ints(datum.model_input);
  return tokens && !tokens->empty() ? tokens->front() : -1;
}

} // namespace

class ScriptedModel : public server::TrainedModel {
public:
  ScriptedModel(ScriptedTrainer& trainer, LoraConfig config) : trainer_(trainer), config_(config) {
    ++trainer_.models_;
  }
  ~ScriptedModel() override {
    --trainer_.models_;
  }
  ScriptedModel(const ScriptedModel&) = delete;
  ScriptedModel& operator=(const ScriptedModel&) = delete;

  LoraConfig config() const override {
    return config_;
  }
  std::int64_t step_count() const override {
    return steps_;
  }

  Result<ForwardBackwardOutput> forward_backward(std::span<const Datum> data, LossFn,
                                                 const std::optional<LossFnConfig>&,
                                                 bool forward_only, std::stop_token stop) override {
    std::string what = forward_only ? "forward" : "forward_backward";
    std::vector<Token> tokens;
    ForwardBackwardOutput output{.loss_fn_output_type = "TorchLossReturn"};
    for (const auto& datum : data) {
      tokens.push_back(first_token(datum));
      what += fmt::format(" {}", tokens.back());
      const auto length = static_cast<std::size_t>(tinkaf::length(datum.model_input).value_or(0));
      output.loss_fn_outputs.push_back(
          {{"logprobs", TensorData::of(std::vector<float>(length, -1.0F))}});
    }
    output.metrics["loss:sum"] = static_cast<double>(tokens.size());
    if (auto begun = trainer_.begin(what, stop); !begun)
      return fail(begun.error());
    if (std::count(tokens.begin(), tokens.end(), 13) > 0)
      return fail(Errc::request_failed, "data[0]: 13 brings bad luck");
    if (std::count(tokens.begin(), tokens.end(), 66) > 0)
      throw std::runtime_error{"66 breaks the trainer"};
    if (!forward_only)
      gathered_.insert(gathered_.end(), tokens.begin(), tokens.end());
    return output;
  }

  Result<OptimStepResponse> optim_step(const AdamParams&) override {
    if (auto begun = trainer_.begin("optim_step", {}); !begun)
      return fail(begun.error());
    learned_.insert(learned_.end(), gathered_.begin(), gathered_.end());
    gathered_.clear();
    ++steps_;
    return OptimStepResponse{.metrics = {{"step:max", static_cast<double>(steps_)}}};
  }

  Result<void> save(const fs::path& folder, bool with_optimizer) override {
    if (auto begun = trainer_.begin(with_optimizer ? "save" : "save_for_sampler", {}); !begun)
      return begun;
    fs::create_directories(folder);
    std::ofstream file{folder / "learned"};
    file << config_.rank;
    for (const auto token : learned_)
      file << ' ' << token;
    const std::lock_guard lock{trainer_.mutex_};
    if (trainer_.disk_full_)
      return fail(Errc::io_error, fmt::format("cannot write {}: No space left on device",
                                              (folder / "learned").string()));
    return {};
  }

  void drop_gradient() override {
    gathered_.clear();
  }

  Result<void> save_state(const fs::path& folder) override {
    fs::create_directories(folder);
    std::ofstream file{folder / "state"};
    file << config_.rank << ' ' << steps_ << ' ' << learned_.size();
    for (const auto& tokens : {learned_, gathered_})
      for (const auto token : tokens)
        file << ' ' << token;
    return {};
  }

  Result<void> read_state(const fs::path& folder) {
    std::ifstream file{folder / "state"};
    std::size_t learned = 0;
    if (!(file >> config_.rank >> steps_ >> learned))
      return fail(Errc::io_error, "cannot read " + (folder / "state").string());
    for (Token token = 0; file >> token;)
      (learned_.size() < learned ? learned_ : gathered_).push_back(token);
    return {};
  }

  std::shared_ptr<const server::Snapshot> snapshot() override {
    return std::make_shared<const Learned>(learned_);
  }

  void set_learned(std::vector<Token> tokens) {
    learned_ = std::move(tokens);
  }

private:
  ScriptedTrainer& trainer_;
  LoraConfig config_;
  std::vector<Token> gathered_;
  std::vector<Token> learned_;
  std::int64_t steps_ = 0;
};

namespace {

Result<std::pair<std::int32_t, std::vector<Token>>> read(const fs::path& folder) {
  std::ifstream file{folder / "learned"};
  std::int32_t rank = 0;
  if (!(file >> rank))
    return fail(Errc::io_error, "cannot read " + (folder / "learned").string());
  std::vector<Token> tokens;
  for (Token token = 0; file >> token;)
    tokens.push_back(token);
  return std::pair{rank, tokens};
}

} // namespace

void ScriptedTrainer::hold() {
  const std::lock_guard lock{mutex_};
  held_ = true;
}

void ScriptedTrainer::release() {
  const std::lock_guard lock{mutex_};
  held_ = false;
  checks_held_ = false;
  changed_.notify_all();
}

void ScriptedTrainer::wait_for_begun(std::size_t count) {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return log_.size() >= count; });
}

std::vector<std::string> ScriptedTrainer::log() const {
  const std::lock_guard lock{mutex_};
  return log_;
}

void ScriptedTrainer::fill_disk() {
  const std::lock_guard lock{mutex_};
  disk_full_ = true;
}

Result<void> ScriptedTrainer::begin(std::string what, const std::stop_token& stop) {
  std::unique_lock lock{mutex_};
  log_.push_back(std::move(what));
  changed_.notify_all();
  if (!changed_.wait(lock, stop, [this] { return !held_; }))
    return fail(Errc::cancelled, "asked to stop");
  return {};
}

Result<void> ScriptedTrainer::check_loss_config(LossFn,
                                                const std::optional<LossFnConfig>& config) const {
  if (config && !config->empty())
    return fail(Errc::invalid_argument,
                fmt::format("loss_fn_config: `{}` is not known", config->begin()->first));
  return {};
}

void ScriptedTrainer::hold_checks() {
  const std::lock_guard lock{mutex_};
  checks_held_ = true;
}

void ScriptedTrainer::wait_for_held_checks(std::size_t count) {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return held_checks_ >= count; });
}

Result<void> ScriptedTrainer::check_datum(const Datum& datum, LossFn, std::size_t index) const {
  {
    std::unique_lock lock{mutex_};
    ++held_checks_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !checks_held_; });
    --held_checks_;
  }
  if (const auto token = first_token(datum); token < 0 || token > 999)
    return fail(Errc::invalid_argument,
                fmt::format("data[{}].model_input: token {} is not in [0, 999]", index, token));
  return {};
}

Result<void> ScriptedTrainer::check_sample(const SampleRequest& request) const {
  return validate(request);
}

Result<std::unique_ptr<server::TrainedModel>> ScriptedTrainer::create(const LoraConfig& config) {
  if (auto begun = begin("create", {}); !begun)
    return fail(begun.error());
  return std::make_unique<ScriptedModel>(*this, config);
}

Result<std::unique_ptr<server::TrainedModel>> ScriptedTrainer::load(const fs::path& folder,
                                                                    bool with_optimizer) {
  if (auto begun = begin(with_optimizer ? "load with optimizer" : "load", {}); !begun)
    return fail(begun.error());
  auto saved = read(folder);
  if (!saved)
    return fail(saved.error());
  auto model = std::make_unique<ScriptedModel>(*this, LoraConfig{.rank = saved->first});
  model->set_learned(std::move(saved->second));
  return model;
}

Result<std::unique_ptr<server::TrainedModel>> ScriptedTrainer::restore(const fs::path& folder) {
  if (auto begun = begin("restore", {}); !begun)
    return fail(begun.error());
  auto model = std::make_unique<ScriptedModel>(*this, LoraConfig{});
  if (auto done = model->read_state(folder); !done)
    return fail(done.error());
  return model;
}

Result<std::shared_ptr<const server::Snapshot>>
ScriptedTrainer::load_snapshot(const fs::path& folder) {
  auto saved = read(folder);
  if (!saved)
    return fail(saved.error());
  return std::make_shared<const Learned>(std::move(saved->second));
}

Result<SampleResponse>
ScriptedTrainer::sample(const std::shared_ptr<const server::Snapshot>& weights,
                        const SampleRequest& request, std::stop_token stop,
                        const server::TokenSink& /*sink*/) {
  if (auto begun = begin("sample", stop); !begun)
    return fail(begun.error());
  SampledSequence sequence{.stop_reason = StopReason::stop};
  if (weights)
    sequence.tokens = dynamic_cast<const Learned&>(*weights).tokens;
  sequence.tokens.push_back(static_cast<Token>(request.sampling_params.seed.value_or(-1)));
  sequence.logprobs.emplace(sequence.tokens.size(), -0.5F);
  return SampleResponse{.sequences = {sequence}};
}

} // namespace tinkaf::test

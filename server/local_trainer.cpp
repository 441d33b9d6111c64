// SPDX-License-Identifier: Apache-2.0
#include "server/local_trainer.hpp"

#include "server/model/adapter.hpp"
#include "server/model/engine.hpp"
#include "server/model/peft_import.hpp"
#include "server/model/sampler.hpp"

#include <fmt/format.h>

#include <cmath>
#include <span>
#include <utility>
#include <vector>

namespace tinkaf::server {

namespace {

class LocalSnapshot : public Snapshot {
public:
  explicit LocalSnapshot(std::shared_ptr<const model::AdapterWeights> weights)
      : weights_(std::move(weights)) {}

  const std::shared_ptr<const model::AdapterWeights>& weights() const noexcept {
    return weights_;
  }

private:
  std::shared_ptr<const model::AdapterWeights> weights_;
};

class LocalModel : public TrainedModel {
public:
  LocalModel(model::Adapter adapter, std::shared_ptr<model::ThreadPool> pool)
      : adapter_(std::move(adapter)), pool_(std::move(pool)) {}

  LoraConfig config() const override {
    return adapter_.config();
  }
  std::int64_t step_count() const override {
    return adapter_.step_count();
  }
  Result<ForwardBackwardOutput> forward_backward(std::span<const Datum> data, LossFn loss_fn,
                                                 const std::optional<LossFnConfig>& config,
                                                 bool forward_only, std::stop_token stop) override {
    return model::forward_backward(adapter_, data, loss_fn, config, forward_only, *pool_, stop);
  }
  Result<OptimStepResponse> optim_step(const AdamParams& params) override {
    return model::optim_step(adapter_, params);
  }
  Metrics gradient_norms() const override {
    const auto& layout = adapter_.weights().layout();
    const auto& gradient = adapter_.gradient();
    Metrics out;
    const auto add = [&](const std::string& name, std::size_t offset, std::size_t size) {
      double sum = 0.0;
      for (const float x : std::span{gradient}.subspan(offset, size))
        sum += static_cast<double>(x) * x;
      out[fmt::format("grad_norm/{}.weight:mean", name)] = std::sqrt(sum);
    };
    for (const auto& x : layout.linears) {
      add(x.name + ".lora_A", x.a, layout.rank * x.in);
      add(x.name + ".lora_B", x.b, layout.rank * x.out);
    }
    return out;
  }
  void drop_gradient() override {
    adapter_.drop_gradient();
  }
  Result<void> save_state(const std::filesystem::path& folder) override {
    return adapter_.save_state(folder);
  }
  Result<void> save(const std::filesystem::path& folder, bool with_optimizer) override {
    return adapter_.save(folder, with_optimizer);
  }
  std::shared_ptr<const Snapshot> snapshot() override {
    return std::make_shared<LocalSnapshot>(adapter_.snapshot());
  }

private:
  model::Adapter adapter_;
  std::shared_ptr<model::ThreadPool> pool_;
};

class LocalTrainer : public Trainer {
public:
  LocalTrainer(std::shared_ptr<const model::BaseModel> base,
               std::shared_ptr<model::ThreadPool> pool)
      : base_(std::move(base)), pool_(std::move(pool)), sampler_(base_, pool_) {}

  std::string name() const override {
    return base_->name();
  }
  std::string arch() const override {
    return model::to_string(base_->config().kind);
  }
  std::int64_t max_context_length() const override {
    return static_cast<std::int64_t>(base_->max_context_length());
  }
  const text::Tokenizer* tokenizer() const override {
    return &base_->tokenizer();
  }
  Result<void> check_loss_config(LossFn loss_fn,
                                 const std::optional<LossFnConfig>& config) const override {
    return model::check_loss_config(loss_fn, config);
  }
  Result<void> check_datum(const Datum& datum, LossFn loss_fn, std::size_t index) const override {
    return model::check_datum(*base_, datum, loss_fn, index);
  }
  Result<void> check_sample(const SampleRequest& request) const override {
    return model::check_sample(*base_, request);
  }
  Result<std::unique_ptr<TrainedModel>> create(const LoraConfig& config) override {
    return wrap(model::Adapter::create(base_, config));
  }
  Result<std::unique_ptr<TrainedModel>> load(const std::filesystem::path& folder,
                                             bool with_optimizer) override {
    return wrap(model::Adapter::load(base_, folder, with_optimizer));
  }
  Result<std::unique_ptr<TrainedModel>>
  import_adapter(const std::filesystem::path& folder) override {
    return wrap(model::import_peft(base_, folder));
  }
  Result<std::unique_ptr<TrainedModel>> merge(std::span<const Share> shares) override {
    std::vector<model::MergePart> parts;
    for (const auto& share : shares)
      parts.push_back({share.folder, share.weight});
    return wrap(model::merge_adapters(base_, parts));
  }
  Result<std::unique_ptr<TrainedModel>> restore(const std::filesystem::path& folder) override {
    return wrap(model::Adapter::restore(base_, folder));
  }
  Result<std::shared_ptr<const Snapshot>>
  load_snapshot(const std::filesystem::path& folder) override {
    auto weights = model::AdapterWeights::load(base_, folder);
    if (!weights)
      return fail(weights.error());
    return std::make_shared<const LocalSnapshot>(std::move(*weights));
  }
  Result<SampleResponse> sample(const std::shared_ptr<const Snapshot>& weights,
                                const SampleRequest& request, std::stop_token stop,
                                const TokenSink& sink) override {
    const auto* local = dynamic_cast<const LocalSnapshot*>(weights.get());
    return sampler_.sample(local != nullptr ? local->weights() : nullptr, request, std::move(stop),
                           sink);
  }

private:
  Result<std::unique_ptr<TrainedModel>> wrap(Result<model::Adapter> adapter) const {
    if (!adapter)
      return fail(adapter.error());
    return std::make_unique<LocalModel>(std::move(*adapter), pool_);
  }

  std::shared_ptr<const model::BaseModel> base_;
  std::shared_ptr<model::ThreadPool> pool_;
  model::Sampler sampler_;
};

} // namespace

std::shared_ptr<Trainer> make_local_trainer(std::shared_ptr<const model::BaseModel> base,
                                            std::shared_ptr<model::ThreadPool> pool) {
  return std::make_shared<LocalTrainer>(std::move(base), std::move(pool));
}

} // namespace tinkaf::server

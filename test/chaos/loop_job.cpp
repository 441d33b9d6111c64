// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/loop_job.hpp"

#include "client/service.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <deque>
#include <fstream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "train/job_model.hpp"
#include "train/metrics.hpp"
#include "train/run_folder.hpp"

namespace tinkaf::test {

namespace {

constexpr auto base_model = "tinkaf/tiny";
constexpr std::size_t batch_size = 2;
constexpr std::int32_t samples_of_a_prompt = 2;
constexpr std::int32_t sampled_tokens = 4;
constexpr auto checkpoint_ttl = std::chrono::hours{1};

Datum datum_of(std::size_t number) {
  auto tokens = std::vector<Token>{};
  auto targets = std::vector<std::int64_t>{};
  for (std::size_t i = 0; i < 4 + number % 2; ++i) {
    tokens.push_back(static_cast<Token>(40 + (number * 7 + i) % 50));
    targets.push_back(static_cast<std::int64_t>(40 + (number * 7 + i + 1) % 50));
  }
  return {.model_input = ModelInput::from_ints(std::move(tokens)),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(std::move(targets))}}};
}

Batch batch_of(std::size_t step, bool weighted) {
  auto data = std::vector<Datum>{};
  for (std::size_t i = 0; i < batch_size; ++i) {
    data.push_back(datum_of(step * batch_size + i));
    auto& inputs = data.back().loss_fn_inputs;
    if (weighted)
      inputs["weights"]
          = TensorData::of(std::vector<float>(inputs.at("target_tokens").size(), 1.0F));
  }
  return make_batch(std::move(data));
}

/// Half the sum of the squares of all log-probabilities.
Result<CustomLossValue> squares(const CustomLossInput& input) {
  auto value = CustomLossValue{};
  for (const auto& logprobs : input.logprobs) {
    for (const auto x : std::get<std::vector<float>>(logprobs.data))
      value.loss += 0.5 * static_cast<double>(x) * static_cast<double>(x);
    value.gradients.push_back(logprobs);
  }
  value.metrics["squares"] = value.loss;
  return value;
}

/// Whether what was submitted can never be settled.
bool is_broken(const Error& error) {
  return train::is_gone(error) || (error.code == Errc::request_failed && !error.ambiguous);
}

struct OpenStep {
  std::size_t step = 0;
  Future<ForwardBackwardOutput> gradient;
  Future<OptimStepResponse> update;
  std::optional<Future<SaveWeightsForSamplerResponse>> sampler;
  std::optional<Future<SaveWeightsResponse>> checkpoint;
};

/// One call of the job's function.
class Loop {
public:
  Loop(const LoopSettings& settings, const JobRun& given, train::RunFolder folder)
      : settings_(settings), given_(given), folder_(std::move(folder)) {}

  Result<JobEnd> run() {
    const auto finished = folder_.journal()->finished();
    if (!finished)
      return fail(finished.error());
    if (*finished)
      return JobEnd::finished;
    auto end = work();
    if (end)
      return end;
    auto error = std::move(end.error());
    if (is_broken(error)) {
      if (auto noted = folder_.journal()->abandon(); !noted)
        return fail(std::move(noted.error()));
      error.should_retry = true;
    }
    return fail(std::move(error));
  }

private:
  Result<JobEnd> work() {
    const auto open = [&](const std::optional<SessionRecord>& record) {
      return record ? Service::resume(*record, settings_.options, settings_.notices)
                    : Service::connect(settings_.options, settings_.notices);
    };
    auto lora = LoraConfig{.rank = 2};
    lora.seed = 1;
    auto model = train::open_job_model(
        open, {.base_model = base_model, .lora_config = lora, .user_metadata = {}}, folder_,
        settings_.notices);
    if (!model)
      return fail(std::move(model.error()));
    model_.emplace(std::move(*model));
    if (auto trained = train(); !trained)
      return fail(std::move(trained.error()));
    if (given_.stop.stop_requested())
      return JobEnd::stopped;
    if (auto closed = wind_up(folder_.checkpoints().back()); !closed)
      return fail(std::move(closed.error()));
    if (auto noted = folder_.journal()->finish(); !noted)
      return fail(std::move(noted.error()));
    return JobEnd::finished;
  }

  Result<void> train() {
    next_ = folder_.headlines().size();
    if (is_due(next_) && !is_saved())
      if (auto saved = settle(next_, save(next_)); !saved)
        return saved;
    auto open = std::deque<OpenStep>{};
    while (!open.empty() || next_ < settings_.steps) {
      if (next_ < settings_.steps && open.size() < 2 && !given_.stop.stop_requested()) {
        open.push_back(submit());
        continue;
      }
      if (open.empty())
        return {};
      if (auto settled = settle(open.front()); !settled)
        return settled;
      open.pop_front();
    }
    return is_saved() ? Result<void>{} : save_last();
  }

  OpenStep submit() {
    const auto step = next_++;
    const auto& client = model_->client;
    auto gradient = settings_.custom_loss
                        ? client.forward_backward_custom(batch_of(step, false), squares)
                        : client.forward_backward(batch_of(step, true));
    auto open = OpenStep{step, std::move(gradient), client.optim_step({.learning_rate = 0.002}),
                         std::nullopt, std::nullopt};
    if (settings_.samples)
      open.sampler
          = client.save_weights_for_sampler(fmt::format("step_{}", next_), {.ttl = checkpoint_ttl});
    if (is_due(next_))
      open.checkpoint = save(next_);
    return open;
  }

  Result<void> settle(const OpenStep& open) {
    auto output = open.gradient.get();
    if (!output)
      return fail(std::move(output.error()));
    auto updated = open.update.get();
    if (!updated)
      return fail(std::move(updated.error()));
    auto row = train::StepRow{.step = open.step, .batch_of_epoch = open.step};
    const auto loss = output->metrics["loss:sum"];
    auto columns = std::move(updated->metrics);
    columns["train_mean_nll"] = loss;
    for (const auto& [name, value] : output->metrics)
      columns["gradient_" + name] = value;
    if (open.sampler) {
      auto saved = open.sampler->get();
      if (!saved)
        return fail(std::move(saved.error()));
      auto drawn = draw(saved->path.value_or(std::string{}), open.step);
      if (!drawn)
        return fail(std::move(drawn.error()));
      note(*drawn, columns);
    }
    row.columns.assign(columns.begin(), columns.end());
    const std::size_t turns = (settings_.custom_loss ? 3 : 2) + (open.sampler ? 1 : 0);
    if (auto written = folder_.settle(row, turns); !written)
      return written;
    given_.report({open.step + 1, settings_.steps, loss});
    return open.checkpoint ? settle(open.step + 1, *open.checkpoint) : Result<void>{};
  }

  /// Samples of two prompts, side by side.
  Result<std::vector<SampleResponse>> draw(const std::string& path, std::size_t seed) {
    auto sampler = model_->service.create_sampling_client(path);
    if (!sampler)
      return fail(std::move(sampler.error()));
    auto params = SamplingParams{};
    params.max_tokens = sampled_tokens;
    params.seed = static_cast<std::int64_t>(seed);
    auto under_way = std::vector<Future<SampleResponse>>{};
    for (const Token first : {40, 50})
      under_way.push_back(sampler->sample(ModelInput::from_ints({first, first + 1, first + 2}),
                                          samples_of_a_prompt, params));
    auto drawn = std::vector<SampleResponse>{};
    for (const auto& sample : under_way) {
      auto answer = sample.get();
      if (!answer)
        return fail(std::move(answer.error()));
      drawn.push_back(std::move(*answer));
    }
    return drawn;
  }

  static void note(const std::vector<SampleResponse>& drawn, Metrics& metrics) {
    for (std::size_t i = 0; i < drawn.size(); ++i)
      for (std::size_t k = 0; k < drawn[i].sequences.size(); ++k)
        for (std::size_t at = 0; at < drawn[i].sequences[k].tokens.size(); ++at)
          metrics[fmt::format("sample_{}_{}_{}", i, k, at)]
              = static_cast<double>(drawn[i].sequences[k].tokens[at]);
  }

  [[nodiscard]] bool is_due(std::size_t step) const {
    return settings_.save_every > 0 && step > 0 && step % settings_.save_every == 0
           && step < settings_.steps;
  }

  [[nodiscard]] bool is_saved() const {
    return !folder_.checkpoints().empty() && folder_.checkpoints().back().batch == next_;
  }

  [[nodiscard]] Future<SaveWeightsResponse> save(std::size_t step) const {
    return model_->client.save_state(fmt::format("step_{}", step), {.ttl = checkpoint_ttl});
  }

  Result<void> settle(std::size_t step, const Future<SaveWeightsResponse>& saved) {
    auto answer = saved.get();
    if (!answer)
      return fail(std::move(answer.error()));
    return folder_.settle(train::CheckpointRow{.name = fmt::format("step_{}", step),
                                               .batch = step,
                                               .final = false,
                                               .state_path = answer->path,
                                               .sampler_path = {}},
                          1);
  }

  Result<void> save_last() {
    const auto state = model_->client.save_state("final");
    const auto sampler = model_->client.save_weights_for_sampler("final");
    auto state_saved = state.get();
    if (!state_saved)
      return fail(std::move(state_saved.error()));
    auto sampler_saved = sampler.get();
    if (!sampler_saved)
      return fail(std::move(sampler_saved.error()));
    return folder_.settle(
        train::CheckpointRow{.name = "final",
                             .batch = next_,
                             .final = true,
                             .state_path = state_saved->path,
                             .sampler_path = sampler_saved->path.value_or(std::string{})},
        2);
  }

  /// Samples from the last weights, and fetches the last checkpoint.
  Result<void> wind_up(const train::CheckpointRow& last) {
    auto drawn = draw(last.sampler_path, 1'000);
    if (!drawn)
      return fail(std::move(drawn.error()));
    auto text = std::string{};
    for (const auto& answer : *drawn)
      for (const auto& sequence : answer.sequences)
        text += fmt::format("{} {} {}\n", to_string(sequence.stop_reason), sequence.tokens,
                            sequence.logprobs.value_or(std::vector<float>{}));
    std::ofstream{folder_.path() / "samples.txt"} << text;
    auto rest = model_->service.create_rest_client();
    if (!rest)
      return fail(std::move(rest.error()));
    auto checkpoint = CheckpointRef::from_tinker_path(last.state_path);
    if (!checkpoint)
      return fail(std::move(checkpoint.error()));
    auto fetched = rest->download_checkpoint({.checkpoint = std::move(*checkpoint),
                                              .destination = folder_.path() / "archive",
                                              .force = true,
                                              .progress = {}})
                       .get();
    return fetched ? Result<void>{} : fail(std::move(fetched.error()));
  }

  const LoopSettings& settings_;
  const JobRun& given_;
  train::RunFolder folder_;
  std::optional<train::JobModel> model_;
  std::size_t next_ = 0;
};

JobIdentity identity_of(const LoopSettings& settings) {
  return {{"steps", std::to_string(settings.steps)},
          {"save_every", std::to_string(settings.save_every)},
          {"custom_loss", fmt::to_string(settings.custom_loss)},
          {"samples", fmt::to_string(settings.samples)}};
}

} // namespace

JobFn loop_job(LoopSettings settings) {
  return [settings = std::make_shared<const LoopSettings>(std::move(settings))](
             const JobRun& given) -> Result<JobEnd> {
    auto end = train::RunFolder::open(settings->folder, identity_of(*settings))
                   .and_then([&](train::RunFolder&& folder) {
                     return Loop{*settings, given, std::move(folder)}.run();
                   });
    if (!end && settings->on_error)
      settings->on_error(end.error());
    return end;
  };
}

} // namespace tinkaf::test

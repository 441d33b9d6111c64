// SPDX-License-Identifier: Apache-2.0
#include "train/sft.hpp"

#include "messages/tinker_path.hpp"

#include <deque>
#include <string>
#include <utility>

#include "train/batch_plan.hpp"

namespace tinkaf::train {

namespace {

using Clock = std::chrono::steady_clock;

/// How often a wait looks whether it was asked to stop.
constexpr auto wait_slice = std::chrono::milliseconds{100};

/// A step that is submitted and not yet finished.
struct OpenStep {
  MetricsRow row;
  std::vector<const Example*> batch;
  Pending<ForwardBackwardOutput> forward_backward;
  Pending<OptimStepResponse> optim_step;
};

/// One run, from its first step to its checkpoint.
class Run {
public:
  Run(Backend& backend, const std::vector<Example>& examples, const SftSettings& settings,
      RunFolder& folder, const OnStep& on_step, std::stop_token stop)
      : backend_(backend), examples_(examples), settings_(settings), folder_(folder),
        on_step_(on_step), stop_(std::move(stop)),
        plan_(examples.size(), settings.batch_size, settings.seed) {}

  Result<SftOutcome> run() {
    for (std::size_t step = 0; step < settings_.steps && !stop_.stop_requested(); ++step) {
      submit(step);
      while (open_.size() > settings_.submit_ahead)
        if (auto done = finish_oldest(); !done)
          return end_early(std::move(done.error()));
    }
    // The save stands directly behind the last step, so that it holds that step and no other.
    auto state = Pending<SaveWeightsResponse>{};
    auto sampler = Pending<SaveWeightsForSamplerResponse>{};
    const auto submitted = outcome_.steps_done + open_.size();
    if (submitted > 0) {
      const auto name = submitted == settings_.steps ? std::string{"final"}
                                                     : "step_" + std::to_string(submitted);
      state = backend_.save_state(name);
      sampler = backend_.save_for_sampler(name);
    }
    outcome_.stopped = submitted < settings_.steps;
    while (!open_.empty())
      if (auto done = finish_oldest(); !done)
        return end_early(std::move(done.error()));
    if (submitted > 0)
      if (auto saved = finish_save(state, sampler); !saved)
        return end_early(std::move(saved.error()));
    return outcome_;
  }

private:
  void submit(std::size_t step) {
    auto open = OpenStep{};
    auto data = std::vector<Datum>{};
    for (const auto index : plan_.rows_of(step)) {
      open.batch.push_back(&examples_[index]);
      data.push_back(examples_[index].datum);
    }
    auto adam = settings_.adam;
    adam.learning_rate *= lr_factor(settings_.schedule, step, settings_.steps);
    open.row.step = step;
    open.row.epoch = plan_.position(step).epoch;
    open.row.progress = static_cast<double>(step) / static_cast<double>(settings_.steps);
    open.row.learning_rate = adam.learning_rate;
    open.forward_backward = backend_.forward_backward(make_batch(std::move(data)));
    open.optim_step = backend_.optim_step(adam);
    open_.push_back(std::move(open));
  }

  Result<void> finish_oldest() {
    auto& open = open_.front();
    auto output = wait(open.forward_backward);
    if (!output)
      return fail(output.error());
    auto optimizer = wait(open.optim_step);
    if (!optimizer)
      return fail(optimizer.error());
    auto metrics = measure(open.batch, *output);
    if (!metrics)
      return fail(metrics.error());
    open.row.batch = *metrics;
    open.row.optimizer = std::move(optimizer->metrics);
    if (auto written = folder_.append(open.row); !written)
      return written;
    if (outcome_.steps_done == 0)
      outcome_.first_nll = metrics->train_mean_nll;
    outcome_.last_nll = metrics->train_mean_nll;
    ++outcome_.steps_done;
    if (on_step_)
      on_step_(open.row);
    open_.pop_front();
    return {};
  }

  Result<void> finish_save(const Pending<SaveWeightsResponse>& state,
                           const Pending<SaveWeightsForSamplerResponse>& sampler) {
    auto state_saved = wait(state);
    if (!state_saved)
      return fail(state_saved.error());
    auto sampler_saved = wait(sampler);
    if (!sampler_saved)
      return fail(sampler_saved.error());
    if (state_saved->path.empty() || !sampler_saved->path || sampler_saved->path->empty())
      return fail(Errc::protocol_error, "the service saved a checkpoint without telling its path");
    const auto path = TinkerPath::parse(state_saved->path);
    auto row = CheckpointRow{};
    row.name = path ? path->name : state_saved->path;
    row.batch = outcome_.steps_done;
    row.epoch = plan_.position(outcome_.steps_done).epoch;
    row.final = outcome_.steps_done == settings_.steps;
    row.state_path = state_saved->path;
    row.sampler_path = *sampler_saved->path;
    if (auto written = folder_.append(row); !written)
      return written;
    outcome_.checkpoint = std::move(row);
    return {};
  }

  /// Waits for an answer, after a stop no longer than the grace.
  template <class T>
  Result<T> wait(const Pending<T>& pending) {
    while (true) {
      if (auto answer = pending(wait_slice))
        return std::move(*answer);
      if (!stop_.stop_requested())
        continue;
      if (!give_up_)
        give_up_ = Clock::now() + settings_.stop_grace;
      if (Clock::now() >= *give_up_) {
        gave_up_ = true;
        return fail(Errc::cancelled, "stopped");
      }
    }
  }

  /// A stopped run that ran out of time is no failure.
  Result<SftOutcome> end_early(Error error) {
    if (!gave_up_)
      return fail(std::move(error));
    outcome_.stopped = true;
    return outcome_;
  }

  Backend& backend_;
  const std::vector<Example>& examples_;
  const SftSettings& settings_;
  RunFolder& folder_;
  const OnStep& on_step_;
  std::stop_token stop_;
  BatchPlan plan_;
  std::deque<OpenStep> open_;
  SftOutcome outcome_;
  std::optional<Clock::time_point> give_up_;
  bool gave_up_ = false;
};

} // namespace

Result<SftOutcome> run_sft(Backend& backend, const std::vector<Example>& examples,
                           const SftSettings& settings, RunFolder& folder, const OnStep& on_step,
                           std::stop_token stop) {
  return Run{backend, examples, settings, folder, on_step, std::move(stop)}.run();
}

} // namespace tinkaf::train

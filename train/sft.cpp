// SPDX-License-Identifier: Apache-2.0
#include "train/sft.hpp"

#include "messages/tinker_path.hpp"

#include <deque>
#include <string>
#include <utility>
#include <variant>

#include "train/batch_plan.hpp"

namespace tinkaf::train {

namespace {

using Clock = std::chrono::steady_clock;

/// How often a wait looks whether it was asked to stop.
constexpr auto wait_slice = std::chrono::milliseconds{100};

/// Operations of a step.
constexpr std::size_t step_operations = 2;

/// A step that is submitted and not yet finished.
struct OpenStep {
  MetricsRow row;
  std::vector<const Example*> batch;
  Pending<ForwardBackwardOutput> forward_backward;
  Pending<OptimStepResponse> optim_step;
};

/// A checkpoint likewise.
struct OpenSave {
  CheckpointRow row;
  Pending<SaveWeightsResponse> state;

  /// Absent for one that is only there to go on from.
  std::optional<Pending<SaveWeightsForSamplerResponse>> sampler;
};

/// One run, from its first step that is not settled to its checkpoint.
class Run {
public:
  Run(Backend& backend, const std::vector<Example>& examples, const SftSettings& settings,
      RunFolder& folder, const OnStep& on_step, std::stop_token stop)
      : backend_(backend), examples_(examples), settings_(settings), folder_(folder),
        on_step_(on_step), stop_(std::move(stop)),
        plan_(examples.size(), settings.batch_size, settings.seed) {}

  Result<SftOutcome> run() {
    if (auto resumed = resume(); !resumed)
      return fail(std::move(resumed.error()));
    for (; next_step_ < settings_.steps && !stop_.stop_requested();) {
      submit_step();
      if (is_due(next_step_))
        submit_save(false);
      while (open_steps_ > settings_.submit_ahead)
        if (auto done = finish_oldest(); !done)
          return end_early(std::move(done.error()));
    }
    outcome_.stopped = next_step_ < settings_.steps;
    if (next_step_ > 0 && !is_saved())
      submit_save(true);
    while (!open_.empty())
      if (auto done = finish_oldest(); !done)
        return end_early(std::move(done.error()));
    if (!folder_.checkpoints().empty())
      outcome_.checkpoint = folder_.checkpoints().back();
    return outcome_;
  }

private:
  /// Takes up where the folder says.
  Result<void> resume() {
    next_step_ = outcome_.steps_done = folder_.losses().size();
    if (next_step_ == 0)
      return {};
    outcome_.first_nll = folder_.losses().front();
    outcome_.last_nll = folder_.losses().back();
    if (!folder_.checkpoints().empty())
      saved_step_ = folder_.checkpoints().back().batch;
    if (next_step_ == settings_.steps || is_saved())
      return {};
    if (is_due(next_step_)) {
      submit_save(false);
      return {};
    }
    // A run that was stopped here may have ended while it saved.
    const auto attach = folder_.journal()->attach();
    if (!attach)
      return fail(attach.error());
    if (!attach->open.empty() && attach->open.front().front().type == RequestType::save_weights)
      submit_save(true);
    return {};
  }

  [[nodiscard]] bool is_due(std::size_t step) const {
    return settings_.save_every > 0 && step % settings_.save_every == 0 && step < settings_.steps;
  }

  /// Whether all that is submitted is in a checkpoint, one that is under way included.
  [[nodiscard]] bool is_saved() const {
    return saved_step_ == next_step_;
  }

  void submit_step() {
    const auto step = next_step_++;
    auto open = OpenStep{};
    auto data = std::vector<Datum>{};
    for (const auto index : plan_.rows_of(step)) {
      open.batch.push_back(&examples_[index]);
      data.push_back(examples_[index].datum);
    }
    auto adam = settings_.adam;
    adam.learning_rate *= lr_factor(settings_.schedule, step, settings_.steps);
    const auto position = plan_.position(step);
    open.row.step = step;
    open.row.epoch = position.epoch;
    open.row.batch_of_epoch = position.batch;
    open.row.progress = static_cast<double>(step) / static_cast<double>(settings_.steps);
    open.row.learning_rate = adam.learning_rate;
    open.forward_backward = backend_.forward_backward(make_batch(std::move(data)));
    open.optim_step = backend_.optim_step(adam);
    open_.emplace_back(std::move(open));
    ++open_steps_;
  }

  /// @param for_good the run ends here: the checkpoint stays, and can be sampled from
  void submit_save(bool for_good) {
    auto open = OpenSave{};
    open.row.final = next_step_ == settings_.steps;
    open.row.name = open.row.final ? std::string{"final"} : "step_" + std::to_string(next_step_);
    open.row.batch = next_step_;
    open.row.epoch = plan_.position(next_step_).epoch;
    open.state = backend_.save_state(
        open.row.name, for_good ? std::nullopt : std::optional{settings_.checkpoint_ttl});
    if (for_good)
      open.sampler = backend_.save_for_sampler(open.row.name);
    saved_step_ = next_step_;
    open_.emplace_back(std::move(open));
  }

  Result<void> finish_oldest() {
    auto done = std::visit([this](auto& open) { return finish(open); }, open_.front());
    if (done)
      open_.pop_front();
    return done;
  }

  Result<void> finish(OpenStep& open) {
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
    if (auto written = folder_.settle(open.row, step_operations); !written)
      return written;
    if (outcome_.steps_done == 0)
      outcome_.first_nll = metrics->train_mean_nll;
    outcome_.last_nll = metrics->train_mean_nll;
    ++outcome_.steps_done;
    --open_steps_;
    if (on_step_)
      on_step_(open.row);
    return {};
  }

  Result<void> finish(OpenSave& open) {
    auto state_saved = wait(open.state);
    if (!state_saved)
      return fail(state_saved.error());
    if (state_saved->path.empty())
      return without_path();
    open.row.state_path = state_saved->path;
    if (open.sampler) {
      auto sampler_saved = wait(*open.sampler);
      if (!sampler_saved)
        return fail(sampler_saved.error());
      if (!sampler_saved->path || sampler_saved->path->empty())
        return without_path();
      open.row.sampler_path = *sampler_saved->path;
    }
    if (const auto path = TinkerPath::parse(open.row.state_path))
      open.row.name = path->name;
    return folder_.settle(open.row, open.sampler ? 2 : 1);
  }

  static tl::unexpected<Error> without_path() {
    return fail(Errc::protocol_error, "the service saved a checkpoint without telling its path");
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

  /// What is submitted, in that order.
  std::deque<std::variant<OpenStep, OpenSave>> open_;
  std::size_t open_steps_ = 0;

  /// The step to submit next, and the one that the last checkpoint goes on with.
  std::size_t next_step_ = 0;
  std::size_t saved_step_ = 0;

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

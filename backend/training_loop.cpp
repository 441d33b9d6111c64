// SPDX-License-Identifier: Apache-2.0
#include "backend/training_loop.hpp"

#include <fmt/format.h>

#include <exception>
#include <optional>
#include <utility>

#include "backend/metrics_file.hpp"

namespace tinkaf {

namespace {

using Clock = std::chrono::steady_clock;

/// One run of the loop.
class Loop {
public:
  Loop(Backend& backend, StepBuilder& builder, const LoopSettings& settings, std::int64_t num_steps,
       CheckpointFile checkpoints, MetricsFile metrics)
      : backend_(backend), builder_(builder), settings_(settings), num_steps_(num_steps),
        checkpoints_(std::move(checkpoints)), metrics_(std::move(metrics)) {}

  Result<LoopOutcome> run(std::int64_t start_step) {
    const auto began = Clock::now();
    tell("on_train_start", settings_.callbacks.on_train_start);
    auto step = start_step;
    do {
      if (auto done = run_step(step); !done)
        return fail(std::move(done.error()));
      ++step;
    } while (step < num_steps_ && !settings_.stop.stop_requested());
    if (auto saved = save("final", step, true); !saved)
      return fail(std::move(saved.error()));
    tell("on_train_end", settings_.callbacks.on_train_end);
    return LoopOutcome{.run_dir = settings_.run_dir,
                       .manifest = checkpoints_.path(),
                       .checkpoints = checkpoints_.rows(),
                       .total_steps = num_steps_,
                       .training_time = Clock::now() - began};
  }

private:
  Result<void> run_step(std::int64_t step) {
    auto batch = builder_.build(step);
    if (!batch)
      return fail(std::move(batch.error()));
    if (batch->rollouts > 0)
      tell("on_rollouts", settings_.callbacks.on_rollouts, step, *batch);
    const auto skipped = !batch->datums || batch->datums->empty();
    auto row = skipped ? skip(step, *batch) : train(step, *batch);
    if (!row)
      return fail(std::move(row.error()));
    if (auto written = metrics_.append(step, *row); !written)
      return written;
    tell("on_step_end", settings_.callbacks.on_step_end, step, *row);
    const auto done = step + 1;
    if (!skipped && is_due(settings_.save_every, done))
      if (auto saved = save(fmt::format("step_{}", done), done, false); !saved)
        return saved;
    return evaluate(done);
  }

  [[nodiscard]] Metrics progress(std::int64_t step) const {
    return {
        {"progress/step", static_cast<double>(step)},
        {"progress/done_frac", static_cast<double>(step + 1) / static_cast<double>(num_steps_)}};
  }

  Result<Metrics> skip(std::int64_t step, const StepBatch& batch) const {
    auto row = progress(step);
    row["train/skipped_empty_batch"] = 1.0;
    put(row, batch.metrics);
    return row;
  }

  Result<Metrics> train(std::int64_t step, const StepBatch& batch) {
    auto adam = settings_.adam;
    if (settings_.lr)
      adam.learning_rate = settings_.lr(step);
    const auto began = Clock::now();
    const auto gradient = submit(batch);
    const auto update = backend_.optim_step(adam);
    auto output = gradient.get();
    auto updated = update.get(); // also where the gradient has failed: nothing is left unseen
    if (!output)
      return fail(std::move(output.error()));
    if (!updated)
      return fail(std::move(updated.error()));
    auto row = progress(step);
    row["optim/lr"] = adam.learning_rate;
    put(row, measure(batch, *output));
    put(row, updated->metrics);
    put(row, batch.metrics);
    row["time/finish_batch"] = std::chrono::duration<double>(Clock::now() - began).count();
    return row;
  }

  Future<ForwardBackwardOutput> submit(const StepBatch& batch) {
    if (const auto* loss = std::get_if<CustomLossFn>(&batch.loss))
      return backend_.forward_backward_custom(batch.datums, *loss);
    return backend_.forward_backward(batch.datums, std::get<LossFn>(batch.loss),
                                     batch.loss_fn_config);
  }

  Metrics measure(const StepBatch& batch, const ForwardBackwardOutput& output) {
    auto metrics = guarded<Metrics>("the metrics of a step",
                                    [&] { return builder_.step_metrics(batch, output); });
    return std::move(metrics).value_or(Metrics{});
  }

  /// The state first, so that a crash between the two saves leaves no row.
  Result<void> save(const std::string& name, std::int64_t next, bool final) {
    auto state = backend_.save_full_state(name);
    if (!state)
      return fail(std::move(state.error()));
    auto sampler = backend_.save_for_sampler(name);
    if (!sampler)
      return fail(std::move(sampler.error()));
    CheckpointEntry entry{.name = name,
                          .batch = next,
                          .epoch = {},
                          .final = final ? std::optional{true} : std::nullopt,
                          .state_path = std::move(*state),
                          .sampler_path = std::move(*sampler),
                          .extra = {}};
    if (auto written = checkpoints_.append(entry); !written)
      return written;
    tell("on_checkpoint", settings_.callbacks.on_checkpoint, entry);
    return {};
  }

  Result<void> evaluate(std::int64_t done) {
    std::vector<const Evaluator*> due;
    for (const auto& evaluator : settings_.evaluators)
      if (is_due(evaluator.run_every, done))
        due.push_back(&evaluator);
    if (due.empty())
      return {};
    auto sampler = backend_.snapshot_sampling_client(fmt::format("eval_{}", done));
    if (!sampler)
      return fail(std::move(sampler.error()));
    std::map<std::string, Metrics> results;
    Metrics row;
    for (const auto* evaluator : due) {
      auto metrics = guarded<Metrics>("evaluator " + evaluator->name,
                                      [&] { return evaluator->evaluate(**sampler, done); });
      if (!metrics)
        continue;
      for (const auto& [key, value] : *metrics)
        row[fmt::format("val/{}/{}", evaluator->name, key)] = value;
      results.emplace(evaluator->name, std::move(*metrics));
    }
    if (!row.empty())
      if (auto written = metrics_.append(done, row); !written)
        return written;
    tell("on_eval", settings_.callbacks.on_eval, done, results);
    return {};
  }

  [[nodiscard]] static bool is_due(std::int64_t every, std::int64_t done) {
    return every > 0 && done % every == 0;
  }

  static void put(Metrics& row, const Metrics& over) {
    for (const auto& [key, value] : over)
      row.insert_or_assign(key, value);
  }

  /// Calls a function of the caller's; nothing where it fails or throws, which is told.
  template <class T, class Function>
  std::optional<T> guarded(const std::string& what, Function function) const {
    std::string reason;
    try {
      auto result = function();
      if (result)
        return std::move(*result);
      reason = result.error().message;
    } catch (const std::exception& broken) {
      reason = broken.what();
    } catch (...) {
      reason = "it threw something";
    }
    if (settings_.notices)
      settings_.notices({Severity::warning, fmt::format("{} failed: {}", what, reason)});
    return std::nullopt;
  }

  template <class Callback, class... Args>
  void tell(const char* what, const Callback& callback, const Args&... args) const {
    if (callback)
      (void)guarded<bool>(what, [&]() -> Result<bool> {
        callback(args...);
        return true;
      });
  }

  Backend& backend_;
  StepBuilder& builder_;
  const LoopSettings& settings_;
  std::int64_t num_steps_;
  CheckpointFile checkpoints_;
  MetricsFile metrics_;
};

} // namespace

Result<Metrics> StepBuilder::step_metrics(const StepBatch&, const ForwardBackwardOutput&) {
  return Metrics{};
}

std::map<std::string, std::string> LoopOutcome::flat() const {
  std::map<std::string, std::string> result{{"run_dir", run_dir.string()}};
  for (const auto& row : checkpoints) {
    if (row.sampler_path)
      result["checkpoint-" + row.name] = *row.sampler_path;
    if (row.state_path)
      result["state-" + row.name] = *row.state_path;
  }
  return result;
}

Result<LoopOutcome> run_training_loop(Backend& backend, StepBuilder& builder,
                                      const LoopSettings& settings, std::int64_t num_steps,
                                      std::int64_t start_step) {
  if (num_steps <= 0)
    return fail(Errc::invalid_argument,
                fmt::format("num_steps is {}, but must be above 0", num_steps));
  if (start_step < 0 || start_step >= num_steps)
    return fail(Errc::invalid_argument,
                fmt::format("start_step is {}, but must be in [0, {}), the steps of the run",
                            start_step, num_steps));
  auto checkpoints = CheckpointFile::open(settings.run_dir, settings.notices);
  if (!checkpoints)
    return fail(std::move(checkpoints.error()));
  auto metrics = MetricsFile::open(settings.run_dir);
  if (!metrics)
    return fail(std::move(metrics.error()));
  return Loop{backend, builder, settings, num_steps, std::move(*checkpoints), std::move(*metrics)}
      .run(start_step);
}

} // namespace tinkaf

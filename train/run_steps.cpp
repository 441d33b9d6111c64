// SPDX-License-Identifier: Apache-2.0
#include "train/run_steps.hpp"

#include "messages/tinker_path.hpp"

#include <fmt/format.h>

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace tinkaf::train {

namespace {

/// A step that is submitted and not yet finished.
struct StepUnderWay {
  StepRow row;
  std::unique_ptr<OpenStep> open;
};

/// A checkpoint likewise.
struct SaveUnderWay {
  CheckpointRow row;
  Pending<SaveWeightsResponse> state;

  /// Absent for one that is only there to go on from.
  std::optional<Pending<SaveWeightsForSamplerResponse>> sampler;
};

/// One run, from its first step that is not settled to its checkpoint.
class Run {
public:
  Run(Recipe& recipe, Backend& backend, std::size_t rows, const RunSettings& settings,
      RunFolder& folder, const OnStep& on_step, std::stop_token stop)
      : recipe_(recipe), backend_(backend), settings_(settings), folder_(folder), on_step_(on_step),
        patience_(std::move(stop), settings.stop_grace),
        plan_(rows, settings.batch_size, settings.seed) {}

  Result<RunOutcome> run() {
    if (auto resumed = resume(); !resumed && !patience_.gave_up())
      return end_early(std::move(resumed.error()));
    while (next_step_ < settings_.steps && !patience_.stop_requested()) {
      if (auto submitted = submit_step(); !submitted) {
        if (patience_.gave_up())
          break;
        return end_early(std::move(submitted.error()));
      }
      if (is_due(next_step_))
        submit_save(false);
      while (open_steps_ > settings_.submit_ahead)
        if (auto done = finish_oldest(); !done)
          return end_early(std::move(done.error()));
    }
    const auto stopped = next_step_ < settings_.steps;
    if (patience_.gave_up())
      if (auto done = settle_before_given_up(); !done)
        return end_early(std::move(done.error()));
    if (next_step_ > 0 && !is_saved())
      submit_save(true);
    if (auto done = finish_all(); !done)
      return end_early(std::move(done.error()));
    return outcome(stopped);
  }

private:
  /// Takes up where the folder says: what an earlier process has submitted, and is not settled, is
  /// asked for again, each in its place. Where that process was stopped, saves stand behind steps;
  /// how many operations a step is shows only once it is settled, so they come one by one.
  Result<void> resume() {
    next_step_ = folder_.headlines().size();
    if (!folder_.checkpoints().empty())
      note_saved(folder_.checkpoints().back());
    auto attach = folder_.journal()->attach();
    const auto first_new = attach ? attach->next_seq_id : 0;
    std::size_t asked = 0; // turns, by saves
    while (attach) {
      const auto& open = attach->open;
      const auto left = asked < open.size() && open[asked].front().seq_id < first_new;
      const auto saves = left && open[asked].front().type == RequestType::save_weights;
      if (next_step_ > 0 && !is_saved() && (saves || is_due(next_step_))) {
        submit_save(!is_due(next_step_));
        asked += is_due(next_step_) ? 1 : 2;
        continue;
      }
      if (!left || next_step_ == settings_.steps)
        return {};
      if (next_step_ > 0 && !is_saved() && asked + 1 < open.size()
          && open[asked + 1].front().seq_id < first_new
          && open[asked + 1].front().type == RequestType::save_weights) {
        given_up_turns_ = recipe_.begin_given_up(plan_of(next_step_));
        asked += given_up_turns_;
        if (given_up_turns_ > 0)
          continue;
      }
      if (auto submitted = submit_step(); !submitted)
        return submitted;
      if (auto done = finish_all(); !done)
        return done;
      asked = 0;
      attach = folder_.journal()->attach();
    }
    return fail(std::move(attach.error()));
  }

  [[nodiscard]] bool is_due(std::size_t step) const {
    return settings_.save_every > 0 && step % settings_.save_every == 0 && step < settings_.steps;
  }

  /// Whether all that is submitted is in a checkpoint, one that is under way included.
  [[nodiscard]] bool is_saved() const {
    return saved_step_ == next_step_;
  }

  [[nodiscard]] StepPlan plan_of(std::size_t step) {
    auto plan = StepPlan{.step = step,
                         .position = plan_.position(step),
                         .rows = plan_.rows_of(step),
                         .adam = settings_.adam,
                         .after_stop = stopped_at_ == step};
    plan.adam.learning_rate *= lr_factor(settings_.schedule, step, settings_.steps);
    return plan;
  }

  /// Settles all steps before one that was given up; what is noted behind them is its own.
  Result<void> settle_before_given_up() {
    if (auto done = finish_all(); !done)
      return done;
    const auto attach = folder_.journal()->attach();
    if (!attach)
      return fail(attach.error());
    given_up_turns_ = attach->open.size();
    return {};
  }

  Result<void> submit_step() {
    const auto step = next_step_;
    auto plan = plan_of(step);
    auto open = recipe_.submit(plan, patience_);
    if (!open)
      return fail(std::move(open.error()));
    const auto progress = static_cast<double>(step) / static_cast<double>(settings_.steps);
    auto row
        = StepRow{.step = step,
                  .epoch = plan.position.epoch,
                  .batch_of_epoch = plan.position.batch,
                  .columns = {{"progress", progress}, {"learning_rate", plan.adam.learning_rate}}};
    open_.emplace_back(StepUnderWay{std::move(row), std::move(*open)});
    ++next_step_;
    ++open_steps_;
    return {};
  }

  /// @param for_good the run ends here: the checkpoint stays, and can be sampled from
  void submit_save(bool for_good) {
    auto open = SaveUnderWay{};
    open.row.final = next_step_ == settings_.steps;
    open.row.name = open.row.final ? std::string{"final"} : "step_" + std::to_string(next_step_);
    open.row.batch = next_step_;
    open.row.epoch = plan_.position(next_step_).epoch;
    open.state = backend_.save_state(
        open.row.name, for_good ? std::nullopt : std::optional{settings_.checkpoint_ttl});
    if (for_good)
      open.sampler = backend_.save_for_sampler(open.row.name);
    saved_step_ = next_step_;
    if (for_good)
      stopped_at_ = next_step_;
    open_.emplace_back(std::move(open));
  }

  void note_saved(const CheckpointRow& row) {
    saved_step_ = row.batch;
    if (!row.sampler_path.empty())
      stopped_at_ = row.batch;
  }

  Result<void> finish_all() {
    while (!open_.empty())
      if (auto done = finish_oldest(); !done)
        return done;
    return {};
  }

  Result<void> finish_oldest() {
    auto done = std::visit([this](auto& open) { return finish(open); }, open_.front());
    if (done)
      open_.pop_front();
    return done;
  }

  Result<void> finish(StepUnderWay& under_way) {
    auto result = under_way.open->finish(patience_);
    if (!result)
      return fail(std::move(result.error()));
    auto& row = under_way.row;
    row.columns.insert(row.columns.end(), result->columns.begin(), result->columns.end());
    row.tokens = result->tokens;
    if (auto written = folder_.settle(row, result->turns); !written)
      return written;
    --open_steps_;
    if (on_step_)
      on_step_(row);
    return {};
  }

  Result<void> finish(SaveUnderWay& open) {
    auto state_saved = patience_.wait(open.state);
    if (!state_saved)
      return fail(state_saved.error());
    if (state_saved->path.empty())
      return without_path();
    open.row.state_path = state_saved->path;
    if (open.sampler) {
      auto sampler_saved = patience_.wait(*open.sampler);
      if (!sampler_saved)
        return fail(sampler_saved.error());
      if (!sampler_saved->path || sampler_saved->path->empty())
        return without_path();
      open.row.sampler_path = *sampler_saved->path;
    }
    if (const auto path = TinkerPath::parse(open.row.state_path))
      open.row.name = path->name;
    return folder_.settle(open.row, std::exchange(given_up_turns_, 0) + (open.sampler ? 2 : 1));
  }

  static tl::unexpected<Error> without_path() {
    return fail(Errc::protocol_error, "the service saved a checkpoint without telling its path");
  }

  /// A stopped run that ran out of time is no failure.
  Result<RunOutcome> end_early(Error error) {
    if (!patience_.is_over())
      return fail(std::move(error));
    auto result = outcome(true);
    result.checkpoint.reset();
    return result;
  }

  [[nodiscard]] RunOutcome outcome(bool stopped) const {
    auto result = outcome_of(folder_);
    result.stopped = stopped;
    return result;
  }

  Recipe& recipe_;
  Backend& backend_;
  const RunSettings& settings_;
  RunFolder& folder_;
  const OnStep& on_step_;
  Patience patience_;
  BatchPlan plan_;

  /// What is submitted, in that order.
  std::deque<std::variant<StepUnderWay, SaveUnderWay>> open_;
  std::size_t open_steps_ = 0;

  /// Turns of a step that was given up, which stand before the save at the end.
  std::size_t given_up_turns_ = 0;

  /// The step to submit next, and the one that the last checkpoint goes on with.
  std::size_t next_step_ = 0;
  std::size_t saved_step_ = 0;

  /// The step before which the run was stopped last.
  std::optional<std::size_t> stopped_at_;
};

} // namespace

Result<void> validate(const RunSettings& settings) {
  for (const auto& [name, value] :
       {std::pair{"steps", settings.steps}, std::pair{"batch_size", settings.batch_size}})
    if (value == 0)
      return fail(Errc::invalid_argument,
                  fmt::format("settings.{} is 0, but must be at least 1", name));
  if (settings.checkpoint_ttl < std::chrono::seconds{1})
    return fail(Errc::invalid_argument,
                fmt::format("settings.checkpoint_ttl is {} s, but must be at least 1",
                            settings.checkpoint_ttl.count()));
  return validate(settings.adam);
}

RunOutcome outcome_of(const RunFolder& folder) {
  auto result = RunOutcome{};
  result.steps_done = folder.headlines().size();
  if (!folder.headlines().empty()) {
    result.first = folder.headlines().front();
    result.last = folder.headlines().back();
  }
  if (!folder.checkpoints().empty())
    result.checkpoint = folder.checkpoints().back();
  return result;
}

Result<RunOutcome> run_steps(Recipe& recipe, Backend& backend, std::size_t rows,
                             const RunSettings& settings, RunFolder& folder, const OnStep& on_step,
                             std::stop_token stop) {
  return Run{recipe, backend, rows, settings, folder, on_step, std::move(stop)}.run();
}

} // namespace tinkaf::train

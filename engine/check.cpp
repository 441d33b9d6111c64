// SPDX-License-Identifier: Apache-2.0
#include "engine/check.hpp"

#include "api/batch_check.hpp"
#include "api/checkpoint_check.hpp"

#include <fmt/format.h>

namespace tinkaf {

namespace {

tl::unexpected<Error> bad(std::string message) {
  return fail(Errc::invalid_argument, std::move(message));
}

Result<void> check_datums(const Batch& batch, const char* field) {
  if (!batch || batch->empty())
    return bad(fmt::format("{} is empty, but must have at least one datum", field));
  for (std::size_t i = 0; i < batch->size(); ++i)
    if (auto checked = check_datum((*batch)[i], LossFn::cross_entropy, i); !checked)
      return bad(fmt::format("{}: {}", field, checked.error().message));
  return {};
}

Result<void> check_custom(const Batch& batch, const Custom& loss) {
  if (!loss.fn)
    return bad("loss.fn is missing, but a custom loss needs its function");
  for (std::size_t i = 0; i < batch->size(); ++i)
    if (auto checked = check_custom_loss_datum((*batch)[i], i); !checked)
      return bad("datums: " + checked.error().message);
  return {};
}

Result<void> check_one(const TrainOp& op) {
  if (auto valid = validate(AdamParams{.learning_rate = op.lr}); !valid)
    return bad("lr: " + valid.error().message);
  const auto* custom = std::get_if<Custom>(&op.loss);
  if (custom != nullptr && op.datums && !op.datums->empty())
    return check_custom(op.datums, *custom);
  return check_datums(op.datums, "datums");
}

Result<void> check_one(const ScoreOp& op) {
  return check_datums(op.datums, "datums");
}

Result<void> check_one(const SnapshotOp& op) {
  if (auto checked = check_checkpoint_name(op.name); !checked)
    return checked;
  if (auto checked = check_sampler_save_options({.ttl = op.ttl}); !checked)
    return checked;
  return has_eval(op) ? check_datums(op.eval, "eval") : Result<void>{};
}

} // namespace

Result<void> OpChecker::check(const Op& op) {
  auto index = index_++;
  auto checked = std::visit([](const auto& x) { return check_one(x); }, op);
  if (!checked)
    return bad(fmt::format("schedule[{}].{}", index, checked.error().message));
  if (const auto* snapshot = std::get_if<SnapshotOp>(&op)) {
    auto [first, is_new] = names_.emplace(snapshot->name, index);
    if (!is_new)
      return bad(
          fmt::format("schedule[{}].name is `{}`, which schedule[{}] has taken; put the step "
                      "into the names of snapshots",
                      index, snapshot->name, first->second));
  }
  return {};
}

Result<void> check_ops(const Schedule& schedule) {
  OpChecker checker;
  for (const auto& op : schedule)
    if (auto checked = checker.check(op); !checked)
      return checked;
  return {};
}

Result<void> check_schedule(const Schedule& schedule) {
  if (schedule.empty())
    return bad("the schedule is empty, but must have at least one operation");
  return check_ops(schedule);
}

} // namespace tinkaf

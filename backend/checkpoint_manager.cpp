// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint_manager.hpp"

#include <fmt/format.h>

#include <utility>
#include <variant>

namespace tinkaf {

namespace {

/// Waits for a save, if there was one, and notes its path.
/// @returns the error of the save, or that it has no path
template <class Answer, class Path>
std::optional<Error> await_path(AwaitAnswer& await, std::optional<std::string>& path,
                                Path path_of) {
  if (!await)
    return std::nullopt;
  auto answer = std::exchange(await, nullptr)();
  if (!answer)
    return std::move(answer.error());
  const auto* saved = std::get_if<Answer>(&*answer);
  if (saved == nullptr || path_of(*saved).empty())
    return Error{.code = Errc::protocol_error,
                 .message = "the service saved a checkpoint without telling its path"};
  path = path_of(*saved);
  return std::nullopt;
}

} // namespace

Result<PendingCheckpoint> PendingCheckpoint::submit(EngineClient& client, const std::string& name,
                                                    const LoopPosition& next, SaveKind kind,
                                                    std::optional<std::chrono::seconds> ttl) {
  PendingCheckpoint pending;
  pending.entry_.name = name;
  pending.entry_.batch = next.batch;
  pending.entry_.epoch = next.epoch;
  const SaveWeightsOptions options{.ttl = ttl};
  if (kind != SaveKind::sampler) {
    auto submitted = client.submit(SubmitStateSave{name, options});
    if (!submitted)
      return fail(std::move(submitted.error()));
    pending.state_ = std::move(*submitted);
  }
  if (kind != SaveKind::state) {
    auto submitted = client.submit(SubmitSamplerSave{name, options});
    if (!submitted) {
      (void)pending.finish(); // accepted, and so not left unseen
      return fail(std::move(submitted.error()));
    }
    pending.sampler_ = std::move(*submitted);
  }
  return pending;
}

Result<CheckpointEntry> PendingCheckpoint::finish() {
  auto state_error = await_path<SaveWeightsResponse>(
      state_, entry_.state_path, [](const SaveWeightsResponse& saved) { return saved.path; });
  auto sampler_error = await_path<SaveWeightsForSamplerResponse>(
      sampler_, entry_.sampler_path,
      [](const SaveWeightsForSamplerResponse& saved) { return saved.path.value_or(""); });
  if (state_error)
    return fail(std::move(*state_error));
  if (sampler_error)
    return fail(std::move(*sampler_error));
  return entry_;
}

Result<CheckpointEntry> save_checkpoint(EngineClient& client, CheckpointFile& file,
                                        const std::string& name, const LoopPosition& next,
                                        SaveKind kind, std::optional<std::chrono::seconds> ttl) {
  auto pending = PendingCheckpoint::submit(client, name, next, kind, ttl);
  if (!pending)
    return fail(std::move(pending.error()));
  auto entry = pending->finish();
  if (!entry)
    return entry;
  if (auto written = file.append(*entry); !written)
    return fail(std::move(written.error()));
  return entry;
}

CheckpointManager::CheckpointManager(std::shared_ptr<EngineClient> client, CheckpointFile& file,
                                     CheckpointPolicy policy, Remove remove, NoticeSink notices)
    : client_(std::move(client)), file_(file), policy_(policy), remove_(std::move(remove)),
      notices_(std::move(notices)) {}

Result<void> CheckpointManager::after_batch(const LoopPosition& next) {
  const auto is_due = [&next](std::int64_t every) {
    return every > 0 && next.batch > 0 && next.batch % every == 0;
  };
  const auto periodic = is_due(policy_.save_every);
  if (!periodic && !is_due(policy_.rolling_save_every))
    return {};
  auto before = std::exchange(open_, std::nullopt);
  auto save = PendingCheckpoint::submit(
      *client_, fmt::format("{:06}{}", next.batch, periodic ? "" : "-rolling"), next,
      periodic ? SaveKind::both : SaveKind::state, periodic ? policy_.ttl : policy_.rolling_ttl);
  auto submitted = Result<void>{};
  if (save)
    open_ = Open{std::move(*save), !periodic};
  else if (periodic)
    submitted = fail(std::move(save.error()));
  else
    warn("a rolling checkpoint could not be submitted: " + save.error().message);
  auto settled = before ? settle(std::move(*before)) : Result<void>{};
  return settled ? submitted : settled;
}

Result<void> CheckpointManager::settle(Open open) {
  if (open.rolling)
    return settle_rolling(std::move(open.save));
  auto entry = open.save.finish();
  return entry ? file_.append(std::move(*entry)) : fail(std::move(entry.error()));
}

Result<void> CheckpointManager::settle_rolling(PendingCheckpoint save) {
  auto entry = save.finish();
  if (!entry) {
    warn("a rolling checkpoint could not be saved: " + entry.error().message);
    return {};
  }
  entry->extra.emplace("rolling", "true");
  auto path = *entry->state_path;
  if (auto written = file_.append(std::move(*entry)); !written)
    return written;
  remove_rolling();
  rolling_path_ = std::move(path);
  return {};
}

void CheckpointManager::remove_rolling() {
  const auto path = std::exchange(rolling_path_, {});
  if (path.empty() || !remove_)
    return;
  if (auto removed = remove_(path); !removed)
    warn(fmt::format("rolling checkpoint {} could not be removed: {}", path,
                     removed.error().message));
}

Result<CheckpointEntry> CheckpointManager::finish(const LoopPosition& next) {
  if (auto open = std::exchange(open_, std::nullopt))
    if (auto settled = settle(std::move(*open)); !settled)
      return fail(std::move(settled.error()));
  auto pending = PendingCheckpoint::submit(*client_, "final", next, SaveKind::both, std::nullopt);
  if (!pending)
    return fail(std::move(pending.error()));
  auto entry = pending->finish();
  if (!entry)
    return entry;
  entry->final = true;
  if (auto written = file_.append(*entry); !written)
    return fail(std::move(written.error()));
  remove_rolling();
  return entry;
}

void CheckpointManager::warn(std::string text) const {
  if (notices_)
    notices_({Severity::warning, std::move(text)});
}

} // namespace tinkaf

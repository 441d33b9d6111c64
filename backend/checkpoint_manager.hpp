// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/notice.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/checkpoint_rows.hpp"
#include "engine/engine_client.hpp"

namespace tinkaf {

/// What is saved of a checkpoint.
enum class SaveKind : std::uint8_t { state, sampler, both };

/// Where a loop stands when it saves: what it will run next.
struct LoopPosition {
  std::int64_t batch = 0;
  std::optional<std::int64_t> epoch;
};

/// A checkpoint that is submitted and not yet finished.
class PendingCheckpoint {
public:
  /// Submits the saves at once, the state first: they hold what was submitted before, and nothing
  /// of what comes later. Call it directly behind the optimizer step of the batch in front of
  /// `next`.
  /// @returns the first error of a submission; if the other save was accepted, it is waited for
  [[nodiscard]] static Result<PendingCheckpoint> submit(EngineClient& client,
                                                        const std::string& name,
                                                        const LoopPosition& next, SaveKind kind,
                                                        std::optional<std::chrono::seconds> ttl);

  /// Waits for what was submitted; called once.
  /// @returns the row for the file; the first error, after both saves were waited for
  [[nodiscard]] Result<CheckpointEntry> finish();

private:
  CheckpointEntry entry_;
  AwaitAnswer state_;
  AwaitAnswer sampler_;
};

/// Saves a checkpoint and adds its row: `PendingCheckpoint` from begin to end.
[[nodiscard]] Result<CheckpointEntry> save_checkpoint(EngineClient& client, CheckpointFile& file,
                                                      const std::string& name,
                                                      const LoopPosition& next,
                                                      SaveKind kind = SaveKind::state,
                                                      std::optional<std::chrono::seconds> ttl = {});

/// When to save what.
struct CheckpointPolicy {
  /// Batches between two checkpoints of kind `both`, named by the batch in six digits; 0 for none.
  std::int64_t save_every = 0;
  std::chrono::seconds ttl{std::chrono::hours{24 * 7}};

  /// Batches between two states that are there for a crash only, each removed once the next one is
  /// saved; 0 for none.
  std::int64_t rolling_save_every = 0;
  std::chrono::seconds rolling_ttl{std::chrono::hours{2}};
};

/// Saves the checkpoints of a run as a policy says, one step ahead: a save that is due is submitted
/// where it stands and finished later, so that it keeps nobody waiting.
///
/// Used by one thread at a time, the one that submits the steps.
class CheckpointManager {
public:
  /// Removes a checkpoint of that path from the service.
  using Remove = std::function<Result<void>(const std::string& path)>;

  /// @param client trains the run
  /// @param file outlives the manager
  /// @param remove removes rolling states that are no longer needed; they expire by themselves if
  ///   it is null or fails
  /// @param notices gets failures of rolling saves, which stop nothing
  CheckpointManager(std::shared_ptr<EngineClient> client, CheckpointFile& file,
                    CheckpointPolicy policy, Remove remove = {}, NoticeSink notices = {});

  /// To be called behind the submission of each batch's optimizer step: submits the save that is
  /// due, and finishes the one that was submitted before it.
  /// @param next what comes behind that batch
  [[nodiscard]] Result<void> after_batch(const LoopPosition& next);

  /// Finishes what is submitted, saves `final` of kind `both` for ever, and removes the last
  /// rolling state.
  /// @param next where a run that is at its end would go on
  [[nodiscard]] Result<CheckpointEntry> finish(const LoopPosition& next);

private:
  struct Open {
    PendingCheckpoint save;
    bool rolling = false;
  };

  /// Waits for a save and adds its row.
  [[nodiscard]] Result<void> settle(Open open);
  [[nodiscard]] Result<void> settle_rolling(PendingCheckpoint save);
  void remove_rolling();
  void warn(std::string text) const;

  std::shared_ptr<EngineClient> client_;
  CheckpointFile& file_;
  CheckpointPolicy policy_;
  Remove remove_;
  NoticeSink notices_;
  std::optional<Open> open_;

  /// The path of the newest rolling state; empty if there is none.
  std::string rolling_path_;
};

} // namespace tinkaf

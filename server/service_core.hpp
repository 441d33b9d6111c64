// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/requests.hpp"
#include "messages/rest_runs.hpp"
#include "server/archive_links.hpp"
#include "server/audit_log.hpp"
#include "server/checkpoint_names.hpp"
#include "server/future_store.hpp"
#include "server/operation_queue.hpp"
#include "server/run_table.hpp"
#include "server/server_options.hpp"
#include "server/session_table.hpp"
#include "server/snapshot_cache.hpp"
#include "server/state_folder.hpp"
#include "server/token_table.hpp"
#include "server/trainer.hpp"
#include "server/usage_table.hpp"
#include "server/work_queue.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::server {

/// A model in training.
struct Model {
  const std::string id;
  const std::string session_id;
  const std::shared_ptr<Trainer> trainer;
  const LoraConfig config;

  // Guarded by the mutex of the core.
  OperationQueue queue = {};
  std::size_t unfinished = 0; // operations
  std::int64_t unnumbered_saves = 0;

  // Of the compute thread.
  std::unique_ptr<TrainedModel> trained = nullptr;
  Error missing = {}; // why there is none
};

/// Something to sample from.
struct Sampler {
  /// Names its lane.
  std::string id;
  std::string session_id;
  std::shared_ptr<Trainer> trainer;

  /// Null for the base itself.
  WeightsFolder weights = nullptr;

  /// The checkpoint that the weights are from, if they are.
  std::optional<std::string> model_path = {};

  struct Known {
    std::string digest;
    std::string request_id;
  };

  /// By number. Guarded by the mutex of the core.
  std::map<std::int64_t, Known> samples = {};
};

/// What all calls work on: the tables, the order of operations, the thread that computes.
///
/// Thread-safe. All that is computed runs on one thread, so models need no locks of their own.
class ServiceCore {
public:
  using Clock = std::chrono::steady_clock;

  /// Runs on the compute thread.
  using Compute = std::function<Result<FutureValue>(std::stop_token)>;

  /// An operation of a model, checked as far as that goes without the model.
  struct Operation {
    /// Runs on the compute thread, in the order of the numbers.
    std::function<Result<FutureValue>(Model&, std::stop_token)> compute;

    /// Called once it is certain that this is no repeat, with the tables locked; may refuse.
    std::function<Result<void>()> reserve = {};
  };

  /// How a model comes to be.
  struct Origin {
    std::shared_ptr<Trainer> trainer;
    LoraConfig config;
    UserMetadata user_metadata;
    std::function<Result<std::unique_ptr<TrainedModel>>(Trainer&)> make;

    /// The result for the client.
    std::function<FutureValue(const std::string& model_id)> result;
  };

  ServiceCore(const ServerOptions& settings, std::vector<std::shared_ptr<Trainer>> bases,
              std::unique_ptr<StateFolder> folder);
  ~ServiceCore();
  ServiceCore(const ServiceCore&) = delete;
  ServiceCore& operator=(const ServiceCore&) = delete;

  // Sessions.

  [[nodiscard]] std::string create_session(SessionNotes notes);

  /// Notes a sign of life. @returns `Errc::not_found`
  [[nodiscard]] Result<void> touch(const std::string& session_id);

  /// @returns `Errc::not_found`
  [[nodiscard]] Result<void> move_session(const std::string& session_id,
                                          const std::string& project_id);

  /// All that are open, newest first.
  [[nodiscard]] std::vector<std::string> session_ids() const;

  /// What was made in a session. @returns `Errc::not_found`
  [[nodiscard]] Result<GetSessionResponse> session(const std::string& session_id) const;

  // Models.

  /// The base model of that name. @returns `Errc::invalid_argument` with the names there are
  [[nodiscard]] Result<std::shared_ptr<Trainer>> trainer(const std::string& name) const;

  /// Also a sign of life of its session. @returns `Errc::not_found`
  [[nodiscard]] Result<std::shared_ptr<Model>> model(const std::string& id);

  /// Takes the making of a model, once: a repeat gets the answer of the first call.
  HttpReply add_model(const std::string& session_id, std::int64_t model_seq_id,
                      const std::string& digest, Origin origin);

  /// Takes an operation, once: a repeat gets the answer of the first call.
  /// @param digest tells payloads apart
  /// @param operation or why it is refused, which uses its number up
  HttpReply submit(const std::shared_ptr<Model>& model, std::optional<std::int64_t> seq_id,
                   const std::string& digest, Result<Operation> operation);

  /// Frees a model behind all that was submitted.
  HttpReply unload(const std::string& model_id);

  // Checkpoints.

  /// A name for a save that has neither a name nor a number.
  [[nodiscard]] std::string name_of_save(Model& model);

  /// Holds the name of a checkpoint to be written.
  /// @returns `Errc::conflict` if it is taken
  [[nodiscard]] Result<CheckpointNames::Hold> take_name(const TinkerPath& path, bool overwrite);

  /// A checkpoint, whatever happens to it later.
  struct FoundCheckpoint {
    TinkerPath path;
    CheckpointInfo info;
    WeightsFolder weights;
  };

  /// A checkpoint of the wanted kind; `text` as the client sent it.
  /// @returns with status 400 for another form or kind of path, else as `checkpoint`
  [[nodiscard]] Result<FoundCheckpoint> checkpoint(const std::string& text, CheckpointKind kind);

  /// @returns with status 404, 425 while it is being written
  [[nodiscard]] Result<FoundCheckpoint> checkpoint(const TinkerPath& path);
  [[nodiscard]] Result<CheckpointInfo> checkpoint_info(const TinkerPath& path) const;

  /// Frees what expired checkpoints and archives take.
  void free_expired();

  /// Lets go of weights in memory that nobody uses any more.
  void drop_unused_weights();

  // Samplers.

  /// Takes a number among the samplers of a session. @pre the tables are locked
  [[nodiscard]] Result<void> claim_sampler(const std::string& session_id, std::int64_t number,
                                           const std::string& digest);

  /// Answers with the sampler's id; a repeat does not make another.
  HttpReply add_sampler(std::int64_t number, const std::string& digest, Sampler sampler);

  /// Adds a sampler whose number was claimed; false if its session has ended.
  bool add_claimed(Sampler sampler);

  /// Also a sign of life of its session. @returns `Errc::not_found`
  [[nodiscard]] Result<std::shared_ptr<Sampler>> sampler(const std::string& id);

  /// Takes a sample, once per number. @pre the request is checked and has a seed
  HttpReply submit_sample(const std::shared_ptr<Sampler>& sampler,
                          std::optional<std::int64_t> seq_id, const std::string& digest,
                          SampleRequest request);

  /// Counts what was done for a session.
  void note_usage(const std::string& session_id, const Trainer& base, UsageTable::Kind kind,
                  std::int64_t count);

  // Time.

  /// The time of day.
  [[nodiscard]] Timestamp wall_now() const {
    return std::chrono::floor<std::chrono::microseconds>(
        options.clock ? options.clock() : std::chrono::system_clock::now());
  }

  void tick();
  void stop();

  [[nodiscard]] bool stopping() const noexcept {
    return stopping_;
  }

  const ServerOptions options;
  const std::vector<std::shared_ptr<Trainer>> trainers;
  const std::unique_ptr<StateFolder> state;
  RunTable runs;
  FutureStore futures;
  TokenTable tokens;
  ArchiveLinks archives;
  AuditLog audit{10'000};
  UsageTable usage;

  /// Reads large bodies.
  WorkQueue readers{2};

  /// Of the compute thread.
  SnapshotCache snapshots;

private:
  void run(const std::string& lane, const std::string& request_id, Compute compute);
  OperationQueue::Operation ordered(const std::shared_ptr<Model>& model, Operation operation);
  void fail_all(const std::vector<OperationQueue::Operation>& operations,
                const std::string& reason);
  void end_session(const std::string& session_id);
  void end_model(const std::shared_ptr<Model>& model, const std::string& reason);
  [[nodiscard]] Error unknown_model(const std::string& id) const;

  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_; // taken before that of `futures`
  SessionTable sessions_;
  std::map<std::string, std::shared_ptr<Model>> models_;
  std::map<std::string, std::string> ended_models_; // with the reason
  std::map<std::string, std::shared_ptr<Sampler>> samplers_;
  CheckpointNames names_;
  std::atomic<std::size_t> unfinished_samples_ = 0;
  Clock::time_point swept_ = Clock::now();
  WorkQueue computing_{1};
};

} // namespace tinkaf::server

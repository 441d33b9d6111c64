// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/requests.hpp"
#include "server/checkpoint_names.hpp"
#include "server/future_store.hpp"
#include "server/operation_queue.hpp"
#include "server/server_options.hpp"
#include "server/session_table.hpp"
#include "server/snapshot_cache.hpp"
#include "server/state_folder.hpp"
#include "server/token_table.hpp"
#include "server/trainer.hpp"
#include "server/work_queue.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
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

  /// Where the weights are; empty for the base itself.
  std::filesystem::path folder = {};

  /// Set if the weights go when the session ends.
  bool passing = false;

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

  [[nodiscard]] std::string create_session();

  /// Notes a sign of life. @returns `Errc::not_found`
  [[nodiscard]] Result<void> touch(const std::string& session_id);

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

  /// A checkpoint of the wanted kind; `text` as the client sent it.
  /// @returns with status 400 for another form or kind of path, 404, 425 while it is being written
  [[nodiscard]] Result<std::pair<TinkerPath, CheckpointInfo>> checkpoint(const std::string& text,
                                                                         CheckpointKind kind) const;

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

  // Time.

  /// The time of day.
  [[nodiscard]] StateFolder::Clock::time_point wall_now() const {
    return options.clock ? options.clock() : StateFolder::Clock::now();
  }

  void tick();
  void stop();

  [[nodiscard]] bool stopping() const noexcept {
    return stopping_;
  }

  const ServerOptions options;
  const std::vector<std::shared_ptr<Trainer>> trainers;
  const std::unique_ptr<StateFolder> state;
  FutureStore futures;
  TokenTable tokens;

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

  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_; // taken before that of `futures`
  SessionTable sessions_;
  std::map<std::string, std::shared_ptr<Model>> models_;
  std::map<std::string, std::string> ended_models_; // with the reason
  std::map<std::string, std::shared_ptr<Sampler>> samplers_;
  CheckpointNames names_;
  std::atomic<std::size_t> unfinished_samples_ = 0;
  WorkQueue computing_{1};
};

} // namespace tinkaf::server

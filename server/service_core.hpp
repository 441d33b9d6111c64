// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/requests.hpp"
#include "messages/rest_runs.hpp"
#include "server/archive_links.hpp"
#include "server/audit_log.hpp"
#include "server/checkpoint_names.hpp"
#include "server/copy_table.hpp"
#include "server/faults.hpp"
#include "server/future_store.hpp"
#include "server/journal/journal_folder.hpp"
#include "server/models.hpp"
#include "server/run_table.hpp"
#include "server/server_options.hpp"
#include "server/session_table.hpp"
#include "server/session_view.hpp"
#include "server/snapshot_cache.hpp"
#include "server/state_folder.hpp"
#include "server/submission.hpp"
#include "server/token_table.hpp"
#include "server/trainer.hpp"
#include "server/usage_table.hpp"
#include "server/work_queue.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tinkaf::server {

/// What all calls work on: the tables, the order of operations, the thread that computes.
///
/// What is accepted is in the journal before it is answered, and what an earlier server accepted is
/// taken up again at the start. See docs/local-server.md.
///
/// Thread-safe. All that is computed runs on one thread, so models need no locks of their own.
class ServiceCore {
public:
  using Clock = std::chrono::steady_clock;

  /// Runs on the compute thread.
  using Compute = std::function<Result<FutureValue>(std::stop_token)>;

  ServiceCore(const ServerOptions& settings, std::vector<std::shared_ptr<Trainer>> bases,
              std::unique_ptr<StateFolder> folder, JournalFolder journal,
              std::shared_ptr<Faults> faults_to_play);
  ~ServiceCore();
  ServiceCore(const ServiceCore&) = delete;
  ServiceCore& operator=(const ServiceCore&) = delete;

  // Sessions.

  /// @returns with status 503 if it cannot be written down
  [[nodiscard]] Result<std::string> create_session(SessionNotes notes);

  /// Notes a sign of life. @returns `Errc::not_found`
  [[nodiscard]] Result<void> touch(const std::string& session_id);

  /// @returns `Errc::not_found`, with status 503 if it cannot be written down
  [[nodiscard]] Result<void> move_session(const std::string& session_id,
                                          const std::string& project_id);

  /// Ends a session by the wish of its client; one that has ended stays so.
  /// @returns `Errc::not_found` if there never was one, as far as this server knows; with status
  ///   503 if it cannot be written down
  /// @param how the client says that it ended: success, errored or interrupted
  [[nodiscard]] Result<void> finish_session(const std::string& session_id, const std::string& how);

  /// All that are open, newest first, and behind them those that have ended, the last one first.
  [[nodiscard]] std::vector<SessionView> session_views(bool with_ended) const;

  /// The same with all that their clients have said of them.
  [[nodiscard]] std::vector<KnownSession> known_sessions() const;

  /// What was made in a session. @returns `Errc::not_found`
  [[nodiscard]] Result<SessionContents> session(const std::string& session_id) const;

  // Models.

  /// The base model of that name. @returns `Errc::invalid_argument` with the names there are
  [[nodiscard]] Result<std::shared_ptr<Trainer>> trainer(const std::string& name) const;

  /// Also a sign of life of its session. @returns `Errc::not_found`
  [[nodiscard]] Result<std::shared_ptr<Model>> model(const std::string& id);

  /// Whether a model is there to be trained on.
  [[nodiscard]] bool is_loaded(const std::string& model_id) const;

  /// Takes the making of a model, once: a repeat gets the answer of the first call.
  /// @param body of the call
  HttpReply add_model(const std::string& session_id, std::int64_t model_seq_id,
                      const std::string& digest, Origin origin, std::string_view body);

  /// Takes an operation, once: a repeat gets the answer of the first call.
  /// @param call that it was read from
  HttpReply submit(const std::shared_ptr<Model>& model, const Submission& submission,
                   const HttpCall& call);

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

  /// Adds a sampler whose number was claimed and whose weights are where they are to stay.
  /// @returns `Errc::cancelled` if its session has ended, `Errc::io_error`
  [[nodiscard]] Result<void> add_claimed(std::int64_t number, const std::string& digest,
                                         Sampler sampler);

  /// A folder for the weights of a sampler of that number.
  [[nodiscard]] WeightsFolder sampler_weights(const std::string& session_id,
                                              std::int64_t number) const;

  /// Also a sign of life of its session. @returns `Errc::not_found`
  [[nodiscard]] Result<std::shared_ptr<Sampler>> sampler(const std::string& id);

  /// Takes a sample, once per number. @pre the request is checked and has a seed
  HttpReply submit_sample(const std::shared_ptr<Sampler>& sampler, const std::string& digest,
                          const AsampleRequest& request);

  /// Draws a sample that nobody polls for.
  /// @param counted whether its tokens were asked for, and are not only a way to look at others
  using Draw = std::function<Result<SampleResponse>(const SampleRequest&, bool counted,
                                                    const TokenSink& sink)>;

  /// Calls `turn` where samples are drawn, with other work in between, until it returns false;
  /// one call at a time.
  /// @returns with status 429 if too many samples wait already
  [[nodiscard]] Result<void> draw_by_turns(const std::shared_ptr<Sampler>& sampler,
                                           std::function<bool(const Draw&)> turn);

  /// Counts what was done for a session.
  void note_usage(const std::string& session_id, const Trainer& base, UsageTable::Kind kind,
                  std::int64_t count);

  /// Counts the tokens of a pass.
  void note_pass(const Model& model, std::int64_t tokens);

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
  const std::shared_ptr<Faults> faults;
  RunTable runs;
  FutureStore futures;
  TokenTable tokens;
  ArchiveLinks archives;
  AuditLog audit{10'000};
  CopyTable copies;
  UsageTable usage;

  /// Reads large bodies.
  WorkQueue readers{2};

  /// Of the compute thread.
  SnapshotCache snapshots;

  /// Of samples without a session.
  const std::shared_ptr<RecordLog> loose_log;

private:
  friend class Restoring;

  // service_models.cpp, with the tables locked
  [[nodiscard]] std::shared_ptr<Model> new_model(const std::string& session_id, std::int64_t number,
                                                 const Origin& origin) const;
  void make(const std::shared_ptr<Model>& model, const std::string& request_id, Origin origin);
  void post(const std::shared_ptr<Model>& model, WorkQueue::Work work);
  void wake(Model& model);
  OperationQueue::Operation ordered(const std::shared_ptr<Model>& model, std::string request_id,
                                    RequestType type, Operation operation);
  void post_unload(const std::string& model_id, const std::string& request_id);
  void end_model(const std::shared_ptr<Model>& model, const std::string& reason);
  void give_up(Model& model, const std::vector<OperationQueue::Operation>& operations,
               const std::string& reason);

  // service_models.cpp, on the compute thread
  [[nodiscard]] Result<FutureValue> perform(Model& model, RequestType type,
                                            const Operation& operation, std::stop_token stop);
  void lose(Model& model, const std::string& reason);
  void complete(const std::string& request_id, Result<FutureValue> result,
                const std::stop_token& stop, const std::string& run_id = {});

  // service_journal.cpp
  void store_state(Model& model); // on the compute thread
  void clean_journal();
  void note_seen(Clock::time_point now); // with the tables locked

  // service_samplers.cpp, with the tables locked
  [[nodiscard]] Result<void> write_sampler(std::int64_t number, const std::string& digest,
                                           const Sampler& sampler) const;
  void post_sample(const std::shared_ptr<Sampler>& sampler, const std::string& request_id,
                   SampleRequest request);
  void post_turn(const std::shared_ptr<Sampler>& sampler, std::function<bool(const Draw&)> turn);

  /// Weights to sample with, none for a base model, or why there are none.
  using Weights = Result<std::shared_ptr<const Snapshot>>;
  using WithWeights = std::function<void(const Weights&, const std::stop_token&)>;
  void with_weights(const std::shared_ptr<Sampler>& sampler, WithWeights work);

  // service_samplers.cpp, where samples are drawn
  [[nodiscard]] static Result<SampleResponse> draw(const Sampler& sampler, const Weights& weights,
                                                   const SampleRequest& request,
                                                   std::stop_token stop,
                                                   const TokenSink& sink = {});
  void note_sample(const Sampler& sampler, const SampleRequest& request,
                   const SampleResponse& response);

  void end_session(const std::string& session_id, const std::string& reason, bool write_down);
  [[nodiscard]] SessionView view_of(const std::string& session_id) const; // with the tables locked
  void look(const std::string& request_id, const RecordLog* log, QueueView& view) const;
  void admit_waiting(); // with the tables locked
  [[nodiscard]] Error unknown_model(const std::string& id) const;
  [[nodiscard]] std::string where_to_go_on(const std::string& model_id) const;

  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_; // of the tables; taken before that of `futures`
  SessionTable sessions_;
  std::map<std::string, std::shared_ptr<Model>> models_;
  std::map<std::string, std::string> ended_models_; // with the reason
  std::map<std::string, std::shared_ptr<Sampler>> samplers_;

  struct EndedSession {
    std::string id;
    std::string reason;
    std::string how; // as its client says, if it was the client's wish
    Clock::time_point when;
    SessionNotes notes;
  };
  std::deque<EndedSession> ended_sessions_; // the last one first
  std::deque<std::string> waiting_models_;  // for room
  CheckpointNames names_;
  std::atomic<std::size_t> unfinished_samples_ = 0;
  Clock::time_point swept_ = Clock::now();

  /// Says what is computed as long as it lives.
  class Running {
  public:
    Running(ServiceCore& core, const std::string& request_id, RequestType type);
    ~Running();
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

  private:
    ServiceCore& core_;
    std::list<RunningWork>::iterator self_;
  };
  mutable std::mutex running_mutex_; // held for a moment only
  std::list<RunningWork> running_;   // in the order of their beginnings

  const JournalFolder journal_;

  /// By session; those of sessions that have ended too, until nothing is remembered of these.
  std::map<std::string, std::shared_ptr<RecordLog>> session_logs_;

  /// By id; of models that have ended too.
  std::map<std::string, std::weak_ptr<RecordLog>> model_logs_;
  std::map<std::string, std::uint64_t> compacted_; // by path of the log: its size then
  Clock::time_point seen_ = Clock::now();          // when signs of life were last written down

  WorkQueue computing_{1};

  /// Hands samples to the trainers side by side, which draw them together.
  WorkQueue sampling_{std::max<std::size_t>(1, options.limits.samples_together)};
};

/// The answer to a request that the journal does not take.
[[nodiscard]] tl::unexpected<Error> not_written(const Error& error);

} // namespace tinkaf::server

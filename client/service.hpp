// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/client_options.hpp"
#include "client/rest_client.hpp"
#include "client/sampling_client.hpp"
#include "client/training_client.hpp"
#include "messages/client_metrics.hpp"
#include "messages/clients.hpp"
#include "messages/ledger.hpp"
#include "messages/notice.hpp"
#include "messages/operation_log.hpp"
#include "messages/supervision.hpp"

#include <memory>
#include <string>

namespace tinkaf {

/// A session with the service, from plain code: no actor in sight.
///
/// Thread-safe; copies are the same session. Service and clients may be destroyed in any order: the
/// session ends with the last of them, at once, and answers what is under way with
/// `Errc::cancelled`. To let telemetry out before, call `close`.
class Service {
public:
  /// Opens a session.
  /// @param options what is unset comes from the environment, see `with_environment`
  /// @param notices takes what the user should know although no call failed
  /// @returns `Errc::invalid_argument` naming a bad option, `Errc::unauthenticated` for a missing
  ///   or refused key, `Errc::connection` naming address and cause
  [[nodiscard]] static Result<Service> connect(ClientOptions options = {},
                                               NoticeSink notices = notices_to_stderr());

  /// Goes on with a session that another process has left, with signs of life at once.
  /// @param record what `record` gave there, or noted since
  /// @returns as `connect`; `Errc::not_found` if the service no longer knows the session
  [[nodiscard]] static Result<Service> resume(const SessionRecord& record,
                                              ClientOptions options = {},
                                              NoticeSink notices = notices_to_stderr());

  /// Creates an adapter on a base model and waits until it is there.
  /// @param user_metadata stored with the training run
  /// @param log notes what the client sends; lives as long as the service
  [[nodiscard]] Result<TrainingClient>
  create_lora_training_client(const std::string& base_model, const LoraConfig& config = {},
                              UserMetadata user_metadata = {},
                              std::shared_ptr<OperationLog> log = {}) const;

  /// Creates an adapter from a `tinker://…/weights/…` checkpoint; the optimizer starts afresh.
  [[nodiscard]] Result<TrainingClient>
  create_training_client_from_state(const std::string& path, UserMetadata user_metadata = {}) const;

  /// The same with the optimizer's state, to go on where the checkpoint was made.
  [[nodiscard]] Result<TrainingClient>
  create_training_client_from_state_with_optimizer(const std::string& path,
                                                   UserMetadata user_metadata = {}) const;

  /// The same with all that can be said of it: another base model, the access token of another
  /// account's checkpoint.
  [[nodiscard]] Result<TrainingClient>
  create_training_client_from_state(CreateTrainingClientFromState spec,
                                    std::shared_ptr<OperationLog> log = {}) const;

  /// Goes on with a model that a client which is no more has trained, in this session or in the one
  /// that this one goes on with.
  /// @param log notes what comes behind the open turns, which are in it already
  /// @returns `Errc::invalid_argument` naming a field that cannot be
  [[nodiscard]] Result<TrainingClient>
  attach_training_client(AttachTrainingClient spec, std::shared_ptr<OperationLog> log = {}) const;

  /// Opens weights to sample from: a base model by name, or a checkpoint by its
  /// `tinker://…/sampler_weights/…` path.
  [[nodiscard]] Result<SamplingClient>
  create_sampling_client(const std::string& model_or_path) const;

  /// The same with all that can be said of them: path and base model together.
  [[nodiscard]] Result<SamplingClient> create_sampling_client(CreateSamplingClient spec) const;

  /// Opens what the service keeps: runs, checkpoints, sessions, usage.
  [[nodiscard]] Result<RestClient> create_rest_client() const;

  [[nodiscard]] Future<ServerCapabilities> get_server_capabilities() const;

  /// What all calls have come to: counts, latencies, bytes.
  /// @param reset count anew from here
  [[nodiscard]] Future<ClientMetrics> metrics(bool reset = false) const;

  /// Who restarts whom, how often that has happened and why.
  [[nodiscard]] Future<SupervisionTree> supervision_tree() const;

  /// Ends the session: its clients' calls, those under way and those to come, are answered with
  /// `Errc::cancelled`. Waits until telemetry is sent, for at most `telemetry_drain` or five
  /// seconds. Calls behind the first do nothing.
  void close() const;

  /// What another process needs in order to go on with the session, as of now.
  [[nodiscard]] Result<SessionRecord> record() const;

  /// The service's name for the session.
  [[nodiscard]] const std::string& session_id() const noexcept;

private:
  friend struct ClientAccess;
  class Impl;
  explicit Service(std::shared_ptr<const Impl> impl);

  std::shared_ptr<const Impl> impl_;
};

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/client_options.hpp"
#include "client/future.hpp"
#include "client/paged.hpp"
#include "messages/notice.hpp"
#include "messages/rest_download.hpp"
#include "messages/rest_requests.hpp"
#include "messages/rest_usage.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace tinkaf {

/// Reads and manages what the service keeps: runs, checkpoints, sessions, usage. Thread-safe;
/// copies are the same client.
///
/// Calls return at once and run side by side. Arguments are checked before anything is sent, with
/// `Errc::invalid_argument` naming the field. Calls are repeated as the retry policy of the options
/// says; all of them may be, since to repeat one does no harm. Keeps the connection of its service
/// open as long as it lives.
class RestClient {
public:
  /// Connects without opening a session.
  /// @param options, notices as for `Service::connect`
  [[nodiscard]] static Result<RestClient> connect(ClientOptions options = {},
                                                  NoticeSink notices = notices_to_stderr());

  // Training runs.

  [[nodiscard]] Future<TrainingRun> get_training_run(const std::string& training_run_id,
                                                     AccessScope access_scope
                                                     = AccessScope::owned) const;

  /// The run that a checkpoint belongs to.
  [[nodiscard]] Future<TrainingRun> get_training_run_by_tinker_path(const std::string& tinker_path,
                                                                    AccessScope access_scope
                                                                    = AccessScope::owned) const;

  /// One page; see `all_training_runs`.
  [[nodiscard]] Future<TrainingRunsResponse> list_training_runs(const ListTrainingRuns& request
                                                                = {}) const;

  /// Walks all runs, newest first, page by page as they are asked for; `request.limit` is the size
  /// of a page, `request.offset` where to begin.
  [[nodiscard]] Paged<TrainingRun> all_training_runs(ListTrainingRuns request
                                                     = {.limit = 100}) const;

  // Checkpoints.

  /// All checkpoints of a run.
  [[nodiscard]] Future<CheckpointsListResponse>
  list_checkpoints(const std::string& training_run_id) const;

  /// One page of the checkpoints of all runs, newest first; see `all_user_checkpoints`.
  [[nodiscard]] Future<CheckpointsListResponse>
  list_user_checkpoints(const ListUserCheckpoints& request = {}) const;

  /// Walks the checkpoints of all runs as `all_training_runs` walks those.
  [[nodiscard]] Paged<Checkpoint> all_user_checkpoints(ListUserCheckpoints request
                                                       = {.limit = 1'000}) const;

  /// Removes a checkpoint. A repeat that finds it gone because the first try got through is a
  /// success.
  [[nodiscard]] Future<Done> delete_checkpoint(const std::string& training_run_id,
                                               const std::string& checkpoint_id) const;
  [[nodiscard]] Future<Done>
  delete_checkpoint_from_tinker_path(const std::string& tinker_path) const;

  /// Lets anyone with an account load a checkpoint.
  /// @returns also `Errc::conflict`, at once, if it is public already
  [[nodiscard]] Future<Done>
  publish_checkpoint_from_tinker_path(const std::string& tinker_path) const;

  /// @returns also `Errc::conflict`, at once, if it is not public
  [[nodiscard]] Future<Done>
  unpublish_checkpoint_from_tinker_path(const std::string& tinker_path) const;

  /// Changes when a checkpoint expires; its data stays as it is.
  /// @param ttl time to live from now on, more than zero; nothing keeps it for ever
  [[nodiscard]] Future<Done>
  set_checkpoint_ttl_from_tinker_path(const std::string& tinker_path,
                                      std::optional<std::chrono::seconds> ttl) const;

  /// Where a checkpoint's archive can be fetched; waits up to ten minutes while it is being built.
  [[nodiscard]] Future<CheckpointArchiveUrlResponse>
  get_checkpoint_archive_url(const std::string& training_run_id,
                             const std::string& checkpoint_id) const;
  [[nodiscard]] Future<CheckpointArchiveUrlResponse>
  get_checkpoint_archive_url_from_tinker_path(const std::string& tinker_path) const;

  /// Fetches a checkpoint's archive and unpacks it into a folder; see docs/rest.md for what is
  /// promised.
  /// @returns `Errc::invalid_argument` if `request.destination` is there and `force` is not set,
  ///   `Errc::protocol_error` for an archive that is damaged or not safe to unpack,
  ///   `Errc::io_error` naming the file
  [[nodiscard]] Future<DownloadedCheckpoint> download_checkpoint(DownloadCheckpoint request) const;

  /// What a checkpoint was made of; works for others' public ones too.
  [[nodiscard]] Future<WeightsInfoResponse>
  get_weights_info_by_tinker_path(const std::string& tinker_path) const;

  // Sessions and samplers.

  [[nodiscard]] Future<GetSessionResponse>
  get_session(const std::string& session_id, AccessScope access_scope = AccessScope::owned) const;

  /// One page; see `all_sessions`.
  [[nodiscard]] Future<ListSessionsResponse> list_sessions(const ListSessions& request = {}) const;

  /// Walks the ids of all sessions as `all_training_runs` walks runs.
  [[nodiscard]] Paged<std::string> all_sessions(ListSessions request = {.limit = 100}) const;

  /// Moves a session to a project; it cannot leave all projects.
  [[nodiscard]] Future<Done> assign_session_project(const std::string& session_id,
                                                    const std::string& project_id) const;

  /// Has a session's trace exported and waits for it; answers with a signed URL, good for about an
  /// hour and fetched without a credential.
  /// @returns `Errc::request_failed` with the service's reason, `Errc::timeout` after
  ///   `request.patience`
  [[nodiscard]] Future<std::string> export_session_trace(ExportSessionTrace request) const;

  [[nodiscard]] Future<GetSamplerResponse> get_sampler(const std::string& sampler_id) const;

  // The account.

  /// What was done on a day of UTC; needs an administrator's key.
  [[nodiscard]] Future<AuditLogResponse> get_audit_log(const GetAuditLog& request = {}) const;

  /// What was used in [starting_on, ending_before): both whole hours, at most 14 days apart.
  [[nodiscard]] Future<BillingUsageResponse> get_billing_usage(Timestamp starting_on,
                                                               Timestamp ending_before) const;

  /// The same with times as RFC 3339 has them.
  [[nodiscard]] Future<BillingUsageResponse>
  get_billing_usage(const std::string& starting_on, const std::string& ending_before) const;

  /// Who the credential speaks for, by the claims of its token; asks nobody.
  [[nodiscard]] Future<WhoamiResponse> whoami() const;

private:
  friend struct ClientAccess;
  struct Impl;
  explicit RestClient(std::shared_ptr<const Impl> impl);

  template <class Answer, class Request>
  [[nodiscard]] Future<Answer> ask(const char* what, Request request) const;

  /// Asks with a request that `make` makes of a checkpoint.
  template <class Answer, class Make>
  [[nodiscard]] Future<Answer> ask_of(const char* what, const std::string& tinker_path,
                                      Make make) const;

  std::shared_ptr<const Impl> impl_;
};

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "client/rest_client.hpp"

#include "api/rest_calls.hpp"
#include "api/wire/rfc3339.hpp"
#include "client/access.hpp"
#include "messages/visible_text.hpp"

#include <optional>
#include <utility>

namespace tinkaf {

namespace {

/// A call that was refused before it was made.
template <class T>
Future<T> refused(Error error) {
  auto state = std::make_shared<FutureState<T>>("");
  error.message = visible(error.message);
  state->set(fail(std::move(error)));
  return Future<T>{std::move(state)};
}

/// What a request is refused for before it is made.
template <class Request>
std::optional<Error> refusal(const Request& request) {
  auto call = rest_call(request);
  return call ? std::nullopt : std::optional{std::move(call.error())};
}

} // namespace

RestClient::RestClient(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}

Result<RestClient> RestClient::connect(ClientOptions options, NoticeSink notices) {
  auto runtime = Runtime::start(with_environment(std::move(options)), std::move(notices));
  if (!runtime)
    return fail(std::move(runtime.error()));
  return make_rest_client(*runtime);
}

Result<RestClient> make_rest_client(const std::shared_ptr<Runtime>& runtime) {
  auto actor
      = runtime->ask<RestClientActor>("create_rest_client", runtime->session(), atom::rest_client_v)
            .get();
  if (!actor)
    return fail(std::move(actor.error()));
  return ClientAccess::make<RestClient>({runtime, std::move(*actor)});
}

template <class Answer, class Request>
Future<Answer> RestClient::ask(const char* what, Request request) const {
  return impl_->runtime->ask<Answer>(what, impl_->actor, std::move(request));
}

template <class Answer, class Make>
Future<Answer> RestClient::ask_of(const char* what, const std::string& tinker_path,
                                  Make make) const {
  auto checkpoint = CheckpointRef::from_tinker_path(tinker_path);
  if (!checkpoint)
    return refused<Answer>(std::move(checkpoint.error()));
  return ask<Answer>(what, make(std::move(*checkpoint)));
}

// --- training runs -------------------------------------------------------------------------------

Future<TrainingRun> RestClient::get_training_run(const std::string& training_run_id,
                                                 AccessScope access_scope) const {
  return ask<TrainingRun>("get_training_run", GetTrainingRun{training_run_id, access_scope});
}

Future<TrainingRun> RestClient::get_training_run_by_tinker_path(const std::string& tinker_path,
                                                                AccessScope access_scope) const {
  return ask_of<TrainingRun>("get_training_run", tinker_path, [&](CheckpointRef checkpoint) {
    return GetTrainingRun{std::move(checkpoint.training_run_id), access_scope};
  });
}

Future<TrainingRunsResponse> RestClient::list_training_runs(const ListTrainingRuns& request) const {
  return ask<TrainingRunsResponse>("list_training_runs", request);
}

Paged<TrainingRun> RestClient::all_training_runs(ListTrainingRuns request) const {
  if (auto wrong = refusal(request))
    return Paged<TrainingRun>{std::move(*wrong)};
  auto fetch = [client = *this, request](std::int64_t limit,
                                         std::int64_t offset) mutable -> Result<Page<TrainingRun>> {
    request.limit = limit;
    request.offset = offset;
    auto page = client.list_training_runs(request).get();
    if (!page)
      return fail(std::move(page.error()));
    return Page<TrainingRun>{std::move(page->training_runs), page->cursor.total_count};
  };
  return {fetch, [](const TrainingRun& run) { return run.training_run_id; }, request.limit,
          request.offset};
}

// --- checkpoints ---------------------------------------------------------------------------------

Future<CheckpointsListResponse>
RestClient::list_checkpoints(const std::string& training_run_id) const {
  return ask<CheckpointsListResponse>("list_checkpoints", ListCheckpoints{training_run_id});
}

Future<CheckpointsListResponse>
RestClient::list_user_checkpoints(const ListUserCheckpoints& request) const {
  return ask<CheckpointsListResponse>("list_user_checkpoints", request);
}

Paged<Checkpoint> RestClient::all_user_checkpoints(ListUserCheckpoints request) const {
  if (auto wrong = refusal(request))
    return Paged<Checkpoint>{std::move(*wrong)};
  auto fetch
      = [client = *this](std::int64_t limit, std::int64_t offset) -> Result<Page<Checkpoint>> {
    auto page = client.list_user_checkpoints({limit, offset}).get();
    if (!page)
      return fail(std::move(page.error()));
    Page<Checkpoint> result{std::move(page->checkpoints), {}};
    if (page->cursor)
      result.total_count = page->cursor->total_count;
    return result;
  };
  return {fetch, [](const Checkpoint& checkpoint) { return checkpoint.tinker_path; }, request.limit,
          request.offset};
}

Future<Done> RestClient::delete_checkpoint(const std::string& training_run_id,
                                           const std::string& checkpoint_id) const {
  return ask<Done>("delete_checkpoint", DeleteCheckpoint{{training_run_id, checkpoint_id}});
}

Future<Done> RestClient::delete_checkpoint_from_tinker_path(const std::string& tinker_path) const {
  return ask_of<Done>("delete_checkpoint", tinker_path,
                      [](CheckpointRef x) { return DeleteCheckpoint{std::move(x)}; });
}

Future<Done> RestClient::publish_checkpoint_from_tinker_path(const std::string& tinker_path) const {
  return ask_of<Done>("publish_checkpoint", tinker_path,
                      [](CheckpointRef x) { return PublishCheckpoint{std::move(x)}; });
}

Future<Done>
RestClient::unpublish_checkpoint_from_tinker_path(const std::string& tinker_path) const {
  return ask_of<Done>("unpublish_checkpoint", tinker_path,
                      [](CheckpointRef x) { return UnpublishCheckpoint{std::move(x)}; });
}

Future<Done>
RestClient::set_checkpoint_ttl_from_tinker_path(const std::string& tinker_path,
                                                std::optional<std::chrono::seconds> ttl) const {
  return ask_of<Done>("set_checkpoint_ttl", tinker_path, [&](CheckpointRef x) {
    return SetCheckpointTtl{std::move(x), ttl};
  });
}

Future<CheckpointArchiveUrlResponse>
RestClient::get_checkpoint_archive_url(const std::string& training_run_id,
                                       const std::string& checkpoint_id) const {
  return ask<CheckpointArchiveUrlResponse>(
      "get_checkpoint_archive_url", GetCheckpointArchiveUrl{{training_run_id, checkpoint_id}});
}

Future<CheckpointArchiveUrlResponse>
RestClient::get_checkpoint_archive_url_from_tinker_path(const std::string& tinker_path) const {
  return ask_of<CheckpointArchiveUrlResponse>(
      "get_checkpoint_archive_url", tinker_path,
      [](CheckpointRef x) { return GetCheckpointArchiveUrl{std::move(x)}; });
}

Future<DownloadedCheckpoint> RestClient::download_checkpoint(DownloadCheckpoint request) const {
  return ask<DownloadedCheckpoint>("download_checkpoint", std::move(request));
}

Future<WeightsInfoResponse>
RestClient::get_weights_info_by_tinker_path(const std::string& tinker_path) const {
  return ask<WeightsInfoResponse>("weights_info", WeightsInfoRequest{tinker_path});
}

// --- sessions and samplers -----------------------------------------------------------------------

Future<GetSessionResponse> RestClient::get_session(const std::string& session_id,
                                                   AccessScope access_scope) const {
  return ask<GetSessionResponse>("get_session", GetSession{session_id, access_scope});
}

Future<ListSessionsResponse> RestClient::list_sessions(const ListSessions& request) const {
  return ask<ListSessionsResponse>("list_sessions", request);
}

Paged<std::string> RestClient::all_sessions(ListSessions request) const {
  if (auto wrong = refusal(request))
    return Paged<std::string>{std::move(*wrong)};
  auto fetch = [client = *this, request](std::int64_t limit,
                                         std::int64_t offset) mutable -> Result<Page<std::string>> {
    request.limit = limit;
    request.offset = offset;
    auto page = client.list_sessions(request).get();
    if (!page)
      return fail(std::move(page.error()));
    return Page<std::string>{std::move(page->sessions), {}};
  };
  return {fetch, [](const std::string& id) { return id; }, request.limit, request.offset};
}

Future<Done> RestClient::assign_session_project(const std::string& session_id,
                                                const std::string& project_id) const {
  return ask<Done>("assign_session_project", AssignSessionProject{session_id, project_id});
}

Future<std::string> RestClient::export_session_trace(ExportSessionTrace request) const {
  return ask<std::string>("export_session_trace", std::move(request));
}

Future<GetSamplerResponse> RestClient::get_sampler(const std::string& sampler_id) const {
  return ask<GetSamplerResponse>("get_sampler", GetSampler{sampler_id});
}

// --- the account ---------------------------------------------------------------------------------

Future<AuditLogResponse> RestClient::get_audit_log(const GetAuditLog& request) const {
  return ask<AuditLogResponse>("get_audit_log", request);
}

Future<BillingUsageResponse> RestClient::get_billing_usage(Timestamp starting_on,
                                                           Timestamp ending_before) const {
  return ask<BillingUsageResponse>("get_billing_usage",
                                   GetBillingUsage{starting_on, ending_before});
}

Future<BillingUsageResponse> RestClient::get_billing_usage(const std::string& starting_on,
                                                           const std::string& ending_before) const {
  auto from = wire::parse_rfc3339(starting_on);
  auto to = wire::parse_rfc3339(ending_before);
  if (from && to)
    return get_billing_usage(*from, *to);
  const auto* name = from ? "ending_before" : "starting_on";
  return refused<BillingUsageResponse>(
      {.code = Errc::invalid_argument,
       .message = std::string{name} + " is `" + (from ? ending_before : starting_on)
                  + "`, but must be a time of RFC 3339, for example 2026-03-04T05:00:00Z",
       .category = ErrorCategory::user});
}

Future<WhoamiResponse> RestClient::whoami() const {
  return impl_->runtime->ask<WhoamiResponse>("whoami", impl_->actor, atom::whoami_v);
}

} // namespace tinkaf

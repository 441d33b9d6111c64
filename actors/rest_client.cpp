// SPDX-License-Identifier: Apache-2.0
#include "actors/rest_client.hpp"

#include "actors/checkpoint_download.hpp"
#include "actors/exceptions.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "api/rest_path.hpp"
#include "api/version.hpp"
#include "api/wire/json_rest.hpp"

#include <algorithm>
#include <utility>

namespace tinkaf {

namespace {

using namespace std::chrono_literals;

/// As for a session: what cannot be reached at start is more often a wrong address.
constexpr std::chrono::milliseconds opening_budget{10'000};

// How often an archive that is being built is asked for, how long, and when the user hears of it.
constexpr auto archive_pause = 30s;
constexpr auto archive_patience = 10min;
constexpr auto archive_quiet = 3min;

constexpr auto trace_pause = 5s;

constexpr int being_built = 503;

Timestamp utc_now() {
  return std::chrono::floor<std::chrono::microseconds>(std::chrono::system_clock::now());
}

} // namespace

RestClientState::~RestClientState() {
  stop_downloads.request_stop();
}

HttpCall RestClientState::call(RestCall x) const {
  x.request.timeout = settings.request_timeout;
  return {x.what, std::move(x.request), settings.retry};
}

void RestClientState::tell(std::string text) const {
  if (settings.notices)
    settings.notices({Severity::warning, std::move(text)});
}

void RestClientState::later(std::chrono::milliseconds delay, std::function<void()> task) {
  auto id = ++last_sleeper;
  sleepers.emplace(id, std::move(task));
  self->delayed_send(self, delay, atom::wake_v, id);
}

void RestClientState::wake(std::uint64_t id) {
  auto node = sleepers.extract(id);
  if (!node.empty())
    node.mapped()();
}

// --- opening -------------------------------------------------------------------------------------

caf::typed_response_promise<Done> RestClientState::open() {
  auto answer = owe<Done>(self);
  if (settings.opened) {
    answer.deliver({});
    return answer.promise();
  }
  openers.push_back(answer);
  if (openers.size() > 1)
    return answer.promise();
  auto body = wire::to_json(wire::ClientConfigRequest{std::string{service_sdk_version}});
  auto config = HttpCall{"client/config",
                         make_request(Endpoint::client_config, std::move(body),
                                      make_idempotency_key(), settings.request_timeout),
                         settings.retry};
  config.retry.budget = std::min(config.retry.budget, opening_budget);
  self->request(settings.http, caf::infinite, std::move(config))
      .then([this](const HttpResponse& response) { on_client_config(response); },
            [this](const caf::error& error) { opened(fail(from_caf(error))); });
  return answer.promise();
}

void RestClientState::on_client_config(const HttpResponse& response) {
  auto config = wire::from_json<ClientConfig>(response.body);
  if (!config)
    return opened(fail(std::move(config.error())));
  self->send(settings.http, atom::max_pause_v,
             caf::timespan{config->billing_exception_max_pause_duration});
  if (!config->pjwt_auth_enabled)
    return opened({});
  auto enforced = config->credential_default_source == "credential_cmd";
  self->request(settings.http, caf::infinite, atom::exchange_v, enforced)
      .then([this](bool) { opened({}); },
            [this](const caf::error& error) { opened(fail(from_caf(error))); });
}

void RestClientState::opened(const Result<void>& result) {
  settings.opened = result.has_value();
  for (auto& opener : std::exchange(openers, {}))
    opener.settle(result.map([] { return Done{}; }));
}

// --- calls ---------------------------------------------------------------------------------------

template <class Answer, class Request>
caf::typed_response_promise<Answer> RestClientState::read(const Request& request) {
  auto answer = owe<Answer>(self);
  auto made = rest_call(request);
  if (!made) {
    answer.fail(std::move(made.error()));
    return answer.promise();
  }
  self->request(settings.http, caf::infinite, call(std::move(*made)))
      .then(
          [answer](const HttpResponse& response) {
            answer.settle(wire::from_json<Answer>(response.body));
          },
          [answer](const caf::error& error) { answer.fail(from_caf(error)); });
  return answer.promise();
}

template <class Request>
caf::typed_response_promise<Done> RestClientState::change(const Request& request, int final,
                                                          int done) {
  auto answer = owe<Done>(self);
  auto made = rest_call(request);
  if (!made) {
    answer.fail(std::move(made.error()));
    return answer.promise();
  }
  auto http_call = call(std::move(*made));
  http_call.final_status = final;
  self->request(settings.http, caf::infinite, std::move(http_call))
      .then([answer](const HttpResponse&) { answer.deliver({}); },
            [answer, done](const caf::error& error) {
              auto reason = from_caf(error);
              if (done != 0 && reason.http_status == done && reason.ambiguous)
                return answer.deliver({});
              answer.fail(std::move(reason));
            });
  return answer.promise();
}

// --- archive -------------------------------------------------------------------------------------

caf::typed_response_promise<CheckpointArchiveUrlResponse>
RestClientState::archive_url(GetCheckpointArchiveUrl request) {
  auto answer = owe<CheckpointArchiveUrlResponse>(self);
  auto now = self->clock().now();
  ask_archive_url(
      std::make_shared<ArchiveWait>(ArchiveWait{answer, std::move(request), now, now, false}));
  return answer.promise();
}

void RestClientState::ask_archive_url(const std::shared_ptr<ArchiveWait>& wait) {
  auto made = rest_call(wait->request);
  if (!made)
    return wait->answer.fail(std::move(made.error()));
  auto asked = settings.base_url + made->request.path;
  auto http_call = call(std::move(*made));
  http_call.redirect_is_answer = true;
  http_call.final_status = being_built;
  self->request(settings.http, caf::infinite, std::move(http_call))
      .then(
          [wait, asked](const HttpResponse& response) {
            wait->answer.settle(read_archive_url(response, asked, utc_now()));
          },
          [this, wait](const caf::error& error) { on_no_archive(wait, from_caf(error)); });
}

void RestClientState::on_no_archive(const std::shared_ptr<ArchiveWait>& wait, Error error) {
  auto now = self->clock().now();
  if (error.http_status != being_built || now - wait->began >= archive_patience)
    return wait->answer.fail(std::move(error));
  auto elapsed = std::chrono::duration_cast<std::chrono::seconds>(now - wait->began);
  if (!wait->waiting)
    tell("the archive of " + wait->request.checkpoint.checkpoint_id
         + " is being built; this may take minutes");
  else if (elapsed >= archive_quiet)
    tell("the archive of " + wait->request.checkpoint.checkpoint_id + " is still being built after "
         + std::to_string(elapsed.count()) + " s");
  wait->waiting = true;
  later(archive_pause, [this, wait] { ask_archive_url(wait); });
}

caf::typed_response_promise<DownloadedCheckpoint>
RestClientState::download(DownloadCheckpoint request) {
  auto answer = owe<DownloadedCheckpoint>(self);
  if (auto checked = check(request.checkpoint); !checked) {
    answer.fail(std::move(checked.error()));
    return answer.promise();
  }
  auto worker = self->spawn<caf::detached>(
      checkpoint_download,
      CheckpointDownloadSettings{
          .rest = RestClientActor{self},
          .http = settings.downloads,
          .retry = settings.retry,
          .stall_timeout = std::chrono::ceil<std::chrono::seconds>(settings.request_timeout),
          .stop = stop_downloads.get_token()});
  self->request(worker, caf::infinite, std::move(request))
      .then([answer](DownloadedCheckpoint& done) { answer.deliver(std::move(done)); },
            [answer](const caf::error& error) { answer.fail(from_caf(error)); });
  return answer.promise();
}

// --- trace ---------------------------------------------------------------------------------------

caf::typed_response_promise<std::string> RestClientState::export_trace(ExportSessionTrace request) {
  auto answer = owe<std::string>(self);
  ask_trace(
      std::make_shared<TraceWait>(TraceWait{answer, std::move(request), self->clock().now()}));
  return answer.promise();
}

void RestClientState::ask_trace(const std::shared_ptr<TraceWait>& wait) {
  auto made = rest_call(wait->request);
  if (!made)
    return wait->answer.fail(std::move(made.error()));
  self->request(settings.http, caf::infinite, call(std::move(*made)))
      .then([this, wait](const HttpResponse& response) { on_trace(wait, response); },
            [wait](const caf::error& error) { wait->answer.fail(from_caf(error)); });
}

void RestClientState::on_trace(const std::shared_ptr<TraceWait>& wait,
                               const HttpResponse& response) {
  auto trace = wire::from_json<TraceExportResponse>(response.body);
  if (!trace)
    return wait->answer.fail(std::move(trace.error()));
  switch (trace->status) {
  case TraceExportStatus::ready:
    if (trace->url && !trace->url->empty())
      return wait->answer.deliver(std::move(*trace->url));
    return wait->answer.fail(
        {Errc::protocol_error, "trace_export answer: `url` is missing of an export that is ready"});
  case TraceExportStatus::failed:
    return wait->answer.fail({.code = Errc::request_failed,
                              .message = "the trace of session " + wait->request.session_id
                                         + " cannot be exported: "
                                         + trace->error.value_or("the service does not say why"),
                              .category = ErrorCategory::server});
  case TraceExportStatus::pending:
    break;
  }
  if (self->clock().now() - wait->began + trace_pause > wait->request.patience)
    return wait->answer.fail({Errc::timeout, "the trace of session " + wait->request.session_id
                                                 + " is not ready after "
                                                 + std::to_string(wait->request.patience.count())
                                                 + " s; the export goes on, ask again"});
  later(trace_pause, [this, wait] { ask_trace(wait); });
}

// --- behaviour -----------------------------------------------------------------------------------

RestClientActor::behavior_type rest_client(RestClientState::SelfPointer self,
                                           RestClientSettings settings) {
  end_on_exception(self);
  constexpr int conflict = 409;
  constexpr int gone = 404;
  self->state.settings = std::move(settings);
  auto& state = self->state;
  return {
      [&state](atom::open) { return state.open(); },
      [&state](const GetTrainingRun& x) { return state.read<TrainingRun>(x); },
      [&state](const ListTrainingRuns& x) { return state.read<TrainingRunsResponse>(x); },
      [&state](const ListCheckpoints& x) { return state.read<CheckpointsListResponse>(x); },
      [&state](const ListUserCheckpoints& x) { return state.read<CheckpointsListResponse>(x); },
      [&state](const DeleteCheckpoint& x) { return state.change(x, 0, gone); },
      [&state](const PublishCheckpoint& x) { return state.change(x, conflict, conflict); },
      [&state](const UnpublishCheckpoint& x) { return state.change(x, conflict, conflict); },
      [&state](const SetCheckpointTtl& x) { return state.change(x); },
      [&state](GetCheckpointArchiveUrl& x) { return state.archive_url(std::move(x)); },
      [&state](DownloadCheckpoint& x) { return state.download(std::move(x)); },
      [&state](const WeightsInfoRequest& x) { return state.read<WeightsInfoResponse>(x); },
      [&state](const GetSession& x) { return state.read<GetSessionResponse>(x); },
      [&state](const ListSessions& x) { return state.read<ListSessionsResponse>(x); },
      [&state](const AssignSessionProject& x) { return state.change(x); },
      [&state](ExportSessionTrace& x) { return state.export_trace(std::move(x)); },
      [&state](const GetSampler& x) { return state.read<GetSamplerResponse>(x); },
      [&state](const GetAuditLog& x) { return state.read<AuditLogResponse>(x); },
      [&state](const GetBillingUsage& x) { return state.read<BillingUsageResponse>(x); },
      [self](atom::whoami) { return self->delegate(self->state.settings.http, atom::whoami_v); },
      [&state](atom::wake, std::uint64_t id) { state.wake(id); },
  };
}

} // namespace tinkaf

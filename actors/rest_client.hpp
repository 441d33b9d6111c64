// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/http_actor.hpp"
#include "actors/owed.hpp"
#include "api/rest_calls.hpp"
#include "api/retry_policy.hpp"
#include "messages/interfaces.hpp"
#include "messages/notice.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace tinkaf {

/// What a REST client is started with.
struct RestClientSettings {
  HttpActor http;

  /// The service's address.
  std::string base_url;

  RetryPolicy retry;
  std::chrono::milliseconds request_timeout{60'000};
  NoticeSink notices;

  /// For the HTTP clients of downloads, which have no credential.
  HttpClientOptions downloads;

  /// A session has been opened over `http` already, so that there is no more to prepare.
  bool opened = false;
};

/// Calls without a session.
///
/// Changes are repeated like reads, since they are harmless to repeat. What the service refuses
/// because of an earlier try of the same call is a success: a conflict about publishing, and a
/// checkpoint to delete that is gone, where the first try may have got through.
struct RestClientState {
  using SelfPointer = RestClientActor::stateful_pointer<RestClientState>;
  using TimePoint = std::chrono::steady_clock::time_point;

  /// An archive's URL that the service has not got ready yet.
  struct ArchiveWait {
    Owed<CheckpointArchiveUrlResponse> answer;
    GetCheckpointArchiveUrl request;
    TimePoint began;
    TimePoint told;
    bool waiting = false;
  };

  /// A trace export under way.
  struct TraceWait {
    Owed<std::string> answer;
    ExportSessionTrace request;
    TimePoint began;
  };

  explicit RestClientState(SelfPointer ptr) : self(ptr) {}

  /// Stops the downloads.
  ~RestClientState();
  RestClientState(const RestClientState&) = delete;
  RestClientState& operator=(const RestClientState&) = delete;

  caf::typed_response_promise<Done> open();
  void on_client_config(const HttpResponse& response);
  void opened(const Result<void>& result);

  /// Makes a call and reads an `Answer`.
  template <class Answer, class Request>
  caf::typed_response_promise<Answer> read(const Request& request);

  /// Makes a call whose answer says nothing but that it went well.
  /// @param final a status that repeating the call cannot cure; 0 for none
  /// @param done a status that says that an earlier try got through; 0 for none
  template <class Request>
  caf::typed_response_promise<Done> change(const Request& request, int final = 0, int done = 0);

  caf::typed_response_promise<CheckpointArchiveUrlResponse>
  archive_url(GetCheckpointArchiveUrl request);
  void ask_archive_url(const std::shared_ptr<ArchiveWait>& wait);
  void on_no_archive(const std::shared_ptr<ArchiveWait>& wait, Error error);

  caf::typed_response_promise<DownloadedCheckpoint> download(DownloadCheckpoint request);

  caf::typed_response_promise<std::string> export_trace(ExportSessionTrace request);
  void ask_trace(const std::shared_ptr<TraceWait>& wait);
  void on_trace(const std::shared_ptr<TraceWait>& wait, const HttpResponse& response);

  [[nodiscard]] HttpCall call(RestCall x) const;

  /// Runs `task` later, unless the client has ended by then.
  void later(std::chrono::milliseconds delay, std::function<void()> task);
  void wake(std::uint64_t id);
  void tell(std::string text) const;

  SelfPointer self;
  RestClientSettings settings;
  std::vector<Owed<Done>> openers;
  std::stop_source stop_downloads;
  std::map<std::uint64_t, std::function<void()>> sleepers;
  std::uint64_t last_sleeper = 0;

  static inline const char* name = "tinkaf.rest-client";
};

RestClientActor::behavior_type rest_client(RestClientState::SelfPointer self,
                                           RestClientSettings settings);

} // namespace tinkaf

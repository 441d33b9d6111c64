// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/session.hpp"
#include "api/endpoint.hpp"
#include "api/wire/json.hpp"
#include "test/actors/actor_fixture.hpp"
#include "test/actors/scripted_transport.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::test {

/// A session on top of a scripted service. Answers what opens a session or a client by itself; all
/// else stays open until the test answers it.
class ServiceFixture : public ActorFixture {
public:
  ServiceFixture() {
    settings.options.retry = RetryPolicy{.first_delay = std::chrono::milliseconds{500},
                                         .jitter = 0.0,
                                         .budget = std::chrono::seconds{10}};
    settings.options.polling.jitter = 0.0;
    settings.options.telemetry = false;
    settings.notices = [this](const Notice& x) { notices.push_back(x); };
  }

  /// Opens the session; to be called once `config` and `settings` are as wanted.
  void open_session() {
    spawn_session();
    auto id = ask<std::string>(session_actor, atom::open_v);
    run();
    REQUIRE(id->has_value());
    REQUIRE((*id)->has_value());
  }

  /// Starts the session without opening it.
  void spawn_session() {
    session_actor = spawn(session, Starter{[this](caf::event_based_actor* parent) {
                            http = parent->spawn(http_actor, transport,
                                                 HttpActorSettings{.notices = settings.notices});
                            return caf::actor_cast<caf::actor>(http);
                          }},
                          settings);
  }

  TrainingClientActor make_training_client() {
    auto client = ask<TrainingClientActor>(session_actor, CreateLoraTrainingClient{"tiny", {}, {}});
    run();
    REQUIRE(client->has_value());
    REQUIRE((*client)->has_value());
    opened_with = transport->sent.size();
    return ***client;
  }

  /// What has been sent to `endpoint` since the last client was opened.
  [[nodiscard]] std::vector<HttpRequest> sent_to(Endpoint endpoint) const {
    std::vector<HttpRequest> result;
    for (auto i = opened_with; i < transport->sent.size(); ++i)
      if (transport->sent[i].request.path == path(endpoint))
        result.push_back(transport->sent[i].request);
    return result;
  }

  /// Accepts the oldest open request to `endpoint` under a request id.
  void accept(Endpoint endpoint, const std::string& request_id) {
    REQUIRE(transport->answer(path(endpoint),
                              json(200, wire::to_json(FutureRef{request_id, "model-1"}))));
    run();
  }

  void refuse(Endpoint endpoint, Result<HttpResponse> response) {
    REQUIRE(transport->answer(path(endpoint), std::move(response)));
    run();
  }

  /// Lets polls of `request_id` be answered with `body` from now on.
  void finish(const std::string& request_id, const std::string& body) {
    results[request_id] = body;
    pass(std::chrono::seconds{2}); // longer than the pause after a poll that came back at once
  }

  ClientConfig config;
  CreateSessionResponse created{.session_id = "session-1"};
  Result<HttpResponse> dynamic_config = json(200, "{}");
  Result<HttpResponse> capabilities = json(200, R"({"supported_models":[]})");
  SessionSettings settings;
  std::vector<Notice> notices;
  std::map<std::string, std::string> results;

  /// What requests to other paths are answered, by the beginning of the path.
  std::map<std::string, Result<HttpResponse>> replies;

  /// Requests whose results the service has dropped.
  std::set<std::string> expired;
  std::shared_ptr<ScriptedTransport> transport = std::make_shared<ScriptedTransport>(
      [this](const HttpRequest& request) { return script(request); });

  /// The HTTP actor of the moment.
  HttpActor http;
  SessionActor session_actor;
  std::size_t opened_with = 0;

private:
  std::optional<Result<HttpResponse>> script(const HttpRequest& request) {
    if (request.path == path(Endpoint::client_config))
      return json(200, wire::to_json(config));
    if (request.path == path(Endpoint::client_dynamic_config))
      return dynamic_config;
    if (request.path == path(Endpoint::create_session))
      return json(200, wire::to_json(created));
    if (request.path == path(Endpoint::get_server_capabilities))
      return capabilities;
    if (request.path == path(Endpoint::create_model))
      return json(200, R"({"request_id":"create"})");
    if (request.path == path(Endpoint::create_sampling_session))
      return json(200, R"({"sampling_session_id":"sampling-1"})");
    if (request.path == path(Endpoint::retrieve_future)) {
      if (request.body->find("\"create\"") != std::string::npos)
        return json(200, R"({"model_id":"model-1"})");
      for (const auto& request_id : expired)
        if (request.body->find('"' + request_id + '"') != std::string::npos)
          return json(410, R"({"detail":"gone"})");
      for (const auto& [request_id, body] : results)
        if (request.body->find('"' + request_id + '"') != std::string::npos)
          return json(200, body);
      return json(200, R"({"type":"try_again"})");
    }
    for (const auto& [beginning, reply] : replies)
      if (request.path.starts_with(beginning))
        return reply;
    return std::nullopt;
  }
};

} // namespace tinkaf::test

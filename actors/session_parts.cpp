// SPDX-License-Identifier: Apache-2.0
#include "actors/byte_budget.hpp"
#include "actors/exit_reasons.hpp"
#include "actors/front.hpp"
#include "actors/poller_supervisor.hpp"
#include "actors/quiet_notices.hpp"
#include "actors/sampling_gate.hpp"
#include "actors/session.hpp"
#include "actors/telemetry.hpp"
#include "api/telemetry.hpp"

#include <algorithm>
#include <utility>

// What a session supervises.

namespace tinkaf {

namespace {

ResultFormat result_format(WireFormat format) {
  switch (format) {
  case WireFormat::protobuf:
    return ResultFormat::protobuf;
  case WireFormat::json:
    return ResultFormat::json;
  case WireFormat::automatic:
    break;
  }
  return ResultFormat::either;
}

/// A starter of actors of that function and those arguments.
template <class Function, class... Args>
Starter starts(Function function, Args... args) {
  return [=](caf::event_based_actor* parent) {
    return caf::actor_cast<caf::actor>(parent->spawn(function, args...));
  };
}

SupervisedPart poller_part(const PollerStatus& status) {
  return {.name = std::string{"poller "} + to_string(status.type) + " " + status.request_id,
          .state = status.poller ? PartState::running : PartState::restarting,
          .restarts = status.restarts,
          .last_reason = status.last_reason,
          .parts = {}};
}

} // namespace

SessionState::~SessionState() {
  for (auto& client : clients)
    self->send_exit(client, caf::exit_reason::user_shutdown);
  for (auto& service : services)
    self->send_exit(service, caf::exit_reason::user_shutdown);
}

caf::actor SessionState::start_front(Starter starter, const std::string& part,
                                     const RestartPolicy& policy) {
  auto actor = caf::actor{self->spawn(front, std::move(starter), policy, SessionActor{self})};
  supervise(actor, part);
  return actor;
}

template <class Handle>
Handle SessionState::start_service(Starter starter, const std::string& part) {
  auto actor = start_front(std::move(starter), part, settings.options.restarts.services);
  services.push_back(actor);
  return caf::actor_cast<Handle>(actor);
}

void SessionState::start_services(Starter http_starter) {
  const auto& options = settings.options;
  quiet = quiet_notices(settings.notices, std::chrono::minutes{1},
                        [&system = self->system()] { return system.clock().now(); });
  http = start_service<HttpActor>(std::move(http_starter), "http");
  gate = start_service<SamplingGateActor>(starts(sampling_gate, SamplingGateSettings{}),
                                          "sampling gate");
  response_budget = start_service<ByteBudgetActor>(
      starts(byte_budget, config.inflight_response_bytes_semaphore_size), "response budget");
  dispatch_budget = start_service<ByteBudgetActor>(
      starts(byte_budget, config.fwdbwd_dispatch_bytes_semaphore_size), "dispatch budget");
  pollers = start_service<PollerSupervisorActor>(
      starts(poller_supervisor, http,
             PollerSettings{options.polling, result_format(options.wire_format), response_budget,
                            quiet, options.on_queue_state},
             options.restarts.pollers),
      "pollers");
}

void SessionState::start_telemetry() {
  if (!settings.options.telemetry.value_or(true))
    return;
  telemetry = start_service<TelemetryActor>(
      starts(tinkaf::telemetry, http, TelemetrySettings{.session_id = session_id}), "telemetry");
  set_up(http, atom::report_to_v, telemetry);
  set_up(pollers, atom::report_to_v, telemetry);
  self->send(telemetry, TelemetryReport{.kind = TelemetryKind::session_start});
}

void SessionState::supervise(const caf::actor& actor, std::string part) {
  self->monitor(actor);
  auto id = ++last_part;
  part_ids[actor.address()] = id;
  parts[id] = SupervisedPart{.name = std::move(part), .last_reason = {}, .parts = {}};
}

void SessionState::on_event(const SupervisionEvent& event) {
  auto id = part_ids.find(event.who);
  if (id == part_ids.end())
    return;
  auto& part = parts.at(id->second);
  if (!event.name.empty())
    part.name = event.name;
  part.state = event.running ? PartState::running : PartState::restarting;
  if (event.running)
    return;
  part.restarts = event.breakages;
  part.last_reason = event.reason;
  auto is_client = std::any_of(clients.begin(), clients.end(),
                               [&](const auto& x) { return x.address() == event.who; });
  if (telemetry && event.who != telemetry.address())
    self->send(telemetry, broken_part_report(is_client ? "client" : part.name));
  tell(Severity::warning, "the " + part.name + " broke: " + part.last_reason);
}

void SessionState::on_down(const caf::down_msg& down) {
  auto was = forget_part(down.source);
  if (telemetry && down.source == telemetry.address()) {
    telemetry = nullptr;
    return tell(Severity::info, "telemetry is off: " + describe_exit(down.reason));
  }
  auto client = std::find_if(clients.begin(), clients.end(),
                             [&](const auto& x) { return x.address() == down.source; });
  if (client == clients.end() && !closers.empty())
    return;
  if (client == clients.end()) {
    // Nothing works without them. Ending answers everybody, which waiting would not.
    tell(Severity::error,
         "the session ends, since its " + was + " has ended: " + describe_exit(down.reason));
    return self->quit(down.reason);
  }
  clients.erase(client);
  if (!is_breakage(down.reason))
    return;
  tell(Severity::error, "the " + was + " has ended: " + describe_exit(down.reason));
  if (telemetry)
    self->send(telemetry, broken_part_report("client"));
}

std::string SessionState::forget_part(const caf::actor_addr& who) {
  auto id = part_ids.extract(who);
  if (id.empty())
    return {};
  auto node = parts.extract(id.mapped());
  return std::move(node.mapped().name);
}

caf::typed_response_promise<SupervisionTree> SessionState::tree() {
  auto answer = owe<SupervisionTree>(self);
  auto result = SupervisionTree{{.name = session_id.empty() ? "session" : "session " + session_id,
                                 .last_reason = {},
                                 .parts = {}}};
  std::size_t supervisor = 0;
  for (const auto& [id, part] : parts) {
    if (id == part_ids.at(pollers.address()))
      supervisor = result.session.parts.size();
    result.session.parts.push_back(part);
  }
  self->request(pollers, caf::infinite, atom::status_v)
      .then(
          [answer, result, supervisor](const PollerStatuses& statuses) {
            auto whole = result;
            for (const auto& status : statuses)
              whole.session.parts.at(supervisor).parts.push_back(poller_part(status));
            answer.deliver(std::move(whole));
          },
          // Between a breakage and the restart there are no pollers.
          [answer, result](const caf::error&) { answer.deliver(result); });
  return answer.promise();
}

} // namespace tinkaf

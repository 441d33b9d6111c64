// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "server/calls.hpp"
#include "server/replies.hpp"

// Calls without a model.

namespace tinkaf::server::calls {

HttpReply healthz(ServiceCore&, const HttpCall&) {
  return HttpReply::json(200, R"({"status":"ok"})");
}

HttpReply client_config(ServiceCore&, const HttpCall&) {
  // The plain HTTP client of the Python SDK is the right one for a server on the same machine.
  return HttpReply::json(200, wire::to_json(ClientConfig{.use_pyqwest_transport = false}));
}

HttpReply client_dynamic_config(ServiceCore&, const HttpCall&) {
  return HttpReply::json(200, R"({"refresh_interval_sec":300})");
}

HttpReply get_server_capabilities(ServiceCore& core, const HttpCall&) {
  ServerCapabilities out;
  for (const auto& trainer : core.trainers)
    out.supported_models.push_back({trainer->name(), trainer->max_context_length()});
  return HttpReply::json(200, wire::to_json(out));
}

HttpReply telemetry(ServiceCore&, const HttpCall&) {
  return HttpReply::json(200, R"({"status":"accepted"})");
}

HttpReply create_session(ServiceCore& core, const HttpCall& call) {
  if (auto request = wire::from_json<CreateSessionRequest>(call.body); !request)
    return error_reply(request.error());
  return HttpReply::json(200,
                         wire::to_json(CreateSessionResponse{.session_id = core.create_session()}));
}

HttpReply session_heartbeat(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::from_json<SessionHeartbeatRequest>(call.body);
  if (!request)
    return error_reply(request.error());
  if (auto known = core.touch(request->session_id); !known)
    return error_reply(known.error());
  return HttpReply::json(200, wire::to_json(wire::SessionHeartbeatResponse{}));
}

} // namespace tinkaf::server::calls

// SPDX-License-Identifier: Apache-2.0
#include "bench/trivial_peer.hpp"

#include "api/wire/protobuf.hpp"
#include "server/http/http_server.hpp"

#include <memory>
#include <string_view>
#include <vector>

#include "bench/peer_process.hpp"

namespace tinkaf::bench {

namespace {

/// The result of a training pass over 128 datums of 2048 tokens.
const std::shared_ptr<const std::string>& pass_result() {
  static const auto bytes = [] {
    ForwardBackwardOutput output{.loss_fn_output_type = "ArrayRecord",
                                 .metrics = {{"loss:sum", 1.0}}};
    for (int i = 0; i < 128; ++i)
      output.loss_fn_outputs.push_back(
          {{"logprobs", TensorData::of(std::vector<float>(2048, -1.5F))}});
    return std::make_shared<const std::string>(*wire::to_protobuf(output));
  }();
  return bytes;
}

server::HttpReply result_of(const server::HttpCall& call) {
  auto asks_for = [&](std::string_view id) { return call.body.find(id) != std::string::npos; };
  if (asks_for("\"pass\""))
    return {.content_type = "application/x-protobuf", .body = pass_result()};
  if (asks_for("\"model\""))
    return server::HttpReply::json(200, R"({"model_id":"session-1:train:0"})");
  if (asks_for("\"step\""))
    return server::HttpReply::json(200, R"({"metrics":{}})");
  return server::HttpReply::json(200, R"({"type":"sample","sequences":[{"stop_reason":"stop",)"
                                      R"("tokens":[1,2,3,4],"logprobs":[-1,-2,-3,-4]}]})");
}

server::HttpReply reply_to(const server::HttpCall& call) {
  if (call.path == "/api/v1/retrieve_future")
    return result_of(call);
  if (call.path == "/api/v1/forward_backward")
    return server::HttpReply::json(200, R"({"request_id":"pass"})");
  if (call.path == "/api/v1/optim_step")
    return server::HttpReply::json(200, R"({"request_id":"step"})");
  if (call.path == "/api/v1/create_model")
    return server::HttpReply::json(200, R"({"request_id":"model"})");
  if (call.path == "/api/v1/client/config")
    return server::HttpReply::json(200, R"({"use_pyqwest_transport":false})");
  if (call.path == "/api/v1/telemetry")
    return server::HttpReply::json(200, R"({"status":"accepted"})");
  if (call.path == "/api/v1/asample")
    return server::HttpReply::json(200, R"({"request_id":"sample-1"})");
  if (call.path == "/api/v1/create_session")
    return server::HttpReply::json(200, R"({"session_id":"session-1"})");
  if (call.path == "/api/v1/create_sampling_session")
    return server::HttpReply::json(200, R"({"sampling_session_id":"sampling-1"})");
  return server::HttpReply::json(200, "{}");
}

} // namespace

int be_trivial_peer() {
  auto server = server::HttpServer::start(
      {.handle = [](const server::HttpCall& call, const server::Responder& responder) {
        responder.send(reply_to(call));
      }});
  if (!server)
    return 1;
  serve_until_parent_ends((*server)->port());
  return 0;
}

} // namespace tinkaf::bench

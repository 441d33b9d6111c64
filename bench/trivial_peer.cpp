// SPDX-License-Identifier: Apache-2.0
#include "bench/trivial_peer.hpp"

#include "api/wire/protobuf.hpp"
#include "server/http/http_server.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

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

Error system_error(const char* what, int code) {
  return {Errc::io_error, fmt::format("{}: {}", what, std::strerror(code))};
}

} // namespace

Result<TrivialPeer> TrivialPeer::start() {
  std::array<int, 2> to_peer{};
  std::array<int, 2> from_peer{};
  if (pipe(to_peer.data()) != 0 || pipe(from_peer.data()) != 0)
    return fail(system_error("no pipe", errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_peer[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from_peer[1], STDOUT_FILENO);
  for (auto fd : {to_peer[0], to_peer[1], from_peer[0], from_peer[1]})
    posix_spawn_file_actions_addclose(&actions, fd);
  auto program = std::string{"/proc/self/exe"};
  auto word = std::string{"peer"};
  std::array<char*, 3> arguments{program.data(), word.data(), nullptr};
  TrivialPeer peer;
  auto code
      = posix_spawn(&peer.process_, program.c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to_peer[0]);
  close(from_peer[1]);
  peer.life_line_ = to_peer[1];
  auto* answer = fdopen(from_peer[0], "r");
  unsigned port = 0;
  auto told = code == 0 && answer != nullptr && std::fscanf(answer, "%u", &port) == 1;
  if (answer != nullptr)
    std::fclose(answer);
  if (!told)
    return fail(system_error("the peer does not start", code));
  peer.url_ = fmt::format("http://127.0.0.1:{}", port);
  return peer;
}

TrivialPeer::TrivialPeer(TrivialPeer&& other) noexcept
    : process_(std::exchange(other.process_, -1)), life_line_(std::exchange(other.life_line_, -1)),
      url_(std::move(other.url_)) {}

TrivialPeer::~TrivialPeer() {
  if (life_line_ >= 0)
    close(life_line_);
  if (process_ > 0)
    waitpid(process_, nullptr, 0);
}

int be_trivial_peer() {
  auto server = server::HttpServer::start(
      {.handle = [](const server::HttpCall& call, const server::Responder& responder) {
        responder.send(reply_to(call));
      }});
  if (!server)
    return 1;
  std::printf("%u\n", static_cast<unsigned>((*server)->port()));
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  return 0;
}

} // namespace tinkaf::bench

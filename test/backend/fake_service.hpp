// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/client_options.hpp"
#include "api/wire/json.hpp"
#include "server/http/http_server.hpp"
#include "test/catch.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::test {

/// A service that says what it is told to, by path, and notes what it was asked, over real sockets.
class FakeService {
public:
  struct Request {
    /// Without "/api/v1/".
    std::string path;
    std::string body;
    std::string key;
  };

  FakeService() {
    server::HttpServerOptions options;
    options.handle = [this](const server::HttpCall& call, const server::Responder& responder) {
      responder.send(answer(call));
    };
    auto started = server::HttpServer::start(std::move(options));
    REQUIRE(started.has_value());
    http_ = std::move(*started);
  }

  [[nodiscard]] ClientOptions options() const {
    ClientOptions result;
    result.base_url = "http://127.0.0.1:" + std::to_string(http_->port());
    result.telemetry = false;
    result.wire_format = WireFormat::json;
    return result;
  }

  /// Answers a path, or a poll for a result of that name, with `body` from now on.
  void set(const std::string& path, std::string body) {
    std::lock_guard lock{mutex_};
    bodies_[path] = std::move(body);
  }

  /// What has come in on the given paths, all paths if none is given, in its order.
  [[nodiscard]] std::vector<Request> requests(const std::vector<std::string>& paths = {}) const {
    std::lock_guard lock{mutex_};
    std::vector<Request> result;
    for (const auto& request : requests_)
      if (paths.empty() || std::find(paths.begin(), paths.end(), request.path) != paths.end())
        result.push_back(request);
    return result;
  }

  /// The body of the only request to a path.
  [[nodiscard]] std::string body_of(const std::string& path) const {
    auto found = requests({path});
    REQUIRE(found.size() == 1);
    return found.front().body;
  }

  /// Waits until so many requests have come to a path; false after 10 s.
  [[nodiscard]] bool wait_for(const std::string& path, std::size_t count) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, std::chrono::seconds{10}, [&] {
      return static_cast<std::size_t>(
                 std::count_if(requests_.begin(), requests_.end(),
                               [&](const Request& request) { return request.path == path; }))
             >= count;
    });
  }

private:
  server::HttpReply answer(const server::HttpCall& call) {
    constexpr std::string_view prefix = "/api/v1/";
    auto path = call.path.starts_with(prefix) ? call.path.substr(prefix.size()) : call.path;
    std::lock_guard lock{mutex_};
    requests_.push_back({path, call.body, std::string{server::header(call.headers, "x-api-key")}});
    changed_.notify_all();
    if (path == "retrieve_future")
      for (const auto& [name, body] : bodies_)
        if (call.body.find("\"r-" + name + "\"") != std::string::npos)
          return server::HttpReply::json(200, body);
    if (auto found = bodies_.find(path); found != bodies_.end() && !is_operation(path))
      return server::HttpReply::json(200, found->second);
    if (is_operation(path))
      return server::HttpReply::json(200, R"({"request_id":"r-)" + path + "\"}");
    return server::HttpReply::json(404, "{}");
  }

  /// True if the result of a path is told by a poll.
  static bool is_operation(std::string_view path) {
    for (const auto* name :
         {"create_model", "forward_backward", "forward", "optim_step", "save_weights",
          "save_weights_for_sampler", "load_weights", "unload_model"})
      if (path == name)
        return true;
    return false;
  }

  static std::string pass_result() {
    ForwardBackwardOutput output{.loss_fn_output_type = "x"};
    output.loss_fn_outputs.push_back({{"logprobs", TensorData::of(std::vector<float>{-1, -2})}});
    return wire::to_json(output).value();
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Request> requests_;
  std::map<std::string, std::string> bodies_{
      {"client/config", "{}"},
      {"client/dynamic_config", "{}"},
      {"create_session", R"({"session_id":"session-1"})"},
      {"session_heartbeat", "{}"},
      {"get_server_capabilities", R"({"supported_models":[]})"},
      {"create_model", R"({"model_id":"model-1"})"},
      {"load_weights", R"({"path":"tinker://r/weights/a"})"},
      {"unload_model", R"({"model_id":"model-1"})"},
      {"get_info", R"({"model_id":"model-1","model_data":{"tokenizer_id":"t"}})"},
      {"weights_info", R"({"base_model":"base","is_lora":true,"lora_rank":8})"},
      {"forward", pass_result()},
      {"forward_backward", pass_result()},
      {"optim_step", R"({"metrics":{}})"},
      {"save_weights", R"({"path":"tinker://model-1/weights/a"})"},
      {"save_weights_for_sampler", R"({"path":"tinker://model-1/sampler_weights/a"})"},
      {"create_sampling_session", R"({"sampling_session_id":"sampling-1"})"}};
  std::unique_ptr<server::HttpServer> http_;
};

} // namespace tinkaf::test

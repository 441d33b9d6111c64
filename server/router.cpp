// SPDX-License-Identifier: Apache-2.0
#include "server/router.hpp"

#include "server/calls.hpp"
#include "server/http/uri.hpp"
#include "server/openai/calls.hpp"

#include <array>
#include <optional>
#include <span>

namespace tinkaf::server {

namespace {

constexpr std::string_view prefix = "/api/v1/";
constexpr std::string_view openai_prefix = "/oai/api/v1/";

constexpr auto routes = std::to_array<Route>({
    {"healthz", "GET", calls::healthz, Access::open},
    {"get_server_capabilities", "GET", calls::get_server_capabilities},
    {"client/config", "POST", calls::client_config, Access::key},
    {"client/dynamic_config", "POST", calls::client_dynamic_config},
    {"auth/token", "POST", calls::auth_token, Access::key},
    {"telemetry", "POST", calls::telemetry},
    {"create_session", "POST", calls::create_session},
    {"session_heartbeat", "POST", calls::session_heartbeat},
    {"create_model", "POST", calls::create_model},
    {"get_info", "POST", calls::get_info},
    {"unload_model", "POST", calls::unload_model},
    {"forward", "POST", calls::forward},
    {"forward_backward", "POST", calls::forward_backward},
    {"optim_step", "POST", calls::optim_step},
    {"save_weights", "POST", calls::save_weights},
    {"save_weights_for_sampler", "POST", calls::save_weights_for_sampler},
    {"save_weights_external", "POST", calls::save_weights_external},
    {"load_weights", "POST", calls::load_weights},
    {"weights_info", "POST", calls::weights_info},
    {"create_sampling_session", "POST", calls::create_sampling_session},
    {"asample", "POST", calls::asample},
    {"retrieve_future", "POST", calls::retrieve_future},
    {"sessions", "GET", calls::list_sessions},
    {"sessions/search", "POST", calls::search_sessions, Access::token, true},
    {"sessions/{}", "GET", calls::get_session},
    {"sessions/{}/project", "PUT", calls::assign_project, Access::token, true},
    {"sessions/{}/finish", "POST", calls::finish_session, Access::token, true},
    {"sessions/{}/trace_export", "GET", calls::trace_export},
    {"samplers/{}", "GET", calls::get_sampler},
    {"training_runs", "GET", calls::list_runs, Access::token, true},
    {"training_runs/{}", "GET", calls::get_run, Access::token, true},
    {"training_runs/{}/checkpoints", "GET", calls::list_run_checkpoints, Access::token, true},
    {"import_checkpoint", "POST", calls::import_checkpoint, Access::token, true},
    {"merge_checkpoints", "POST", calls::merge_checkpoints, Access::token, true},
    {"copy_weights", "POST", calls::copy_weights, Access::token, true},
    {"checkpoints", "GET", calls::list_checkpoints, Access::token, true},
    {"training_runs/{}/checkpoints/{}/{}", "DELETE", calls::delete_checkpoint, Access::token, true},
    {"training_runs/{}/checkpoints/{}/{}/ttl", "PUT", calls::set_checkpoint_ttl, Access::token,
     true},
    {"training_runs/{}/checkpoints/{}/{}/publish", "POST", calls::publish_checkpoint, Access::token,
     true},
    {"training_runs/{}/checkpoints/{}/{}/publish", "DELETE", calls::unpublish_checkpoint,
     Access::token, true},
    {"training_runs/{}/checkpoints/{}/{}/archive", "GET", calls::checkpoint_archive, Access::token,
     true},
    {"training_runs/{}/checkpoints/{}/{}/external_weights_urls", "GET",
     calls::external_weights_urls, Access::token, true},
    {"audit", "GET", calls::audit},
    {"billing/usage/events", "GET", calls::billing_usage},
    {"archives/{}", "GET", calls::fetch_archive, Access::open},
    {"archives/{}", "HEAD", calls::fetch_archive, Access::open},
    {"training_runs/{}/checkpoints/{}", "DELETE", calls::bare_checkpoint},
    {"training_runs/{}/checkpoints/{}/ttl", "PUT", calls::bare_checkpoint},
    {"training_runs/{}/checkpoints/{}/publish", "POST", calls::bare_checkpoint},
    {"training_runs/{}/checkpoints/{}/archive", "GET", calls::bare_checkpoint},
});

constexpr auto openai_routes = std::to_array<Route>({
    {"completions", "POST", openai::completions, Access::key, true},
    {"chat/completions", "POST", openai::chat_completions, Access::key, true},
    {"models", "GET", openai::models, Access::key},
});

/// Takes the first segment off a path.
std::string_view next_segment(std::string_view& path) {
  const auto segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size() < path.size() ? segment.size() + 1 : path.size());
  return segment;
}

/// What stands for each `{}`; nothing if the path is another one. No segment is empty.
std::optional<std::vector<std::string>> match(std::string_view pattern, std::string_view path) {
  if (path.ends_with('/'))
    return std::nullopt;
  std::vector<std::string> arguments;
  while (!pattern.empty()) {
    const auto wanted = next_segment(pattern);
    const auto found = next_segment(path);
    if (wanted == "{}" && !found.empty())
      arguments.emplace_back(found);
    else if (wanted != found)
      return std::nullopt;
  }
  return path.empty() ? std::optional{std::move(arguments)} : std::nullopt;
}

} // namespace

bool is_openai(std::string_view path) noexcept {
  return path.starts_with(openai_prefix);
}

RouteMatch find_route(std::string_view method, std::string_view path) {
  // No id holds a slash, so that an escaped one separates just as well.
  const auto decoded = percent_decode(path);
  if (!decoded)
    return {};
  const bool of_openai = is_openai(*decoded);
  if (!of_openai && !decoded->starts_with(prefix))
    return {};
  const auto rest
      = std::string_view{*decoded}.substr(of_openai ? openai_prefix.size() : prefix.size());
  RouteMatch out;
  for (const auto& route : of_openai ? std::span<const Route>{openai_routes} : routes) {
    auto arguments = match(route.path, rest);
    if (!arguments)
      continue;
    out.methods.push_back(route.method);
    if (route.method == method) {
      out.route = &route;
      out.arguments = std::move(*arguments);
    }
  }
  return out;
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#include "api/client_options.hpp"

#include "api/backoff.hpp"
#include "api/trace_context.hpp"
#include "api/version.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <utility>

namespace tinkaf {

namespace {

bool is_loopback(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme))
    return false;
  url.remove_prefix(scheme.size());
  const auto host = url.substr(0, url.find_first_of(":/"));
  return host == "localhost" || host.starts_with("127.") || url.starts_with("[::1]");
}

/// The variable's value; nothing if it is unset or empty.
std::optional<std::string> variable(const char* name) {
  const auto* value = std::getenv(name);
  if (value == nullptr || *value == '\0')
    return std::nullopt;
  return value;
}

/// As the official SDK reads labels: no trimming, no duplicates, and empty text is one empty label.
std::vector<std::string> split_tags(std::string_view text) {
  std::vector<std::string> tags;
  while (true) {
    auto comma = text.find(',');
    auto tag = text.substr(0, comma);
    if (std::find(tags.begin(), tags.end(), tag) == tags.end())
      tags.emplace_back(tag);
    if (comma == std::string_view::npos)
      return tags;
    text.remove_prefix(comma + 1);
  }
}

bool is_yes(std::string text) {
  for (auto& c : text)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text == "1" || text == "true" || text == "yes" || text == "on";
}

void fill(std::string& field, const char* name) {
  if (field.empty())
    field = variable(name).value_or("");
}

void add_secret(HttpHeaders& headers, const char* header, const char* name) {
  auto known = std::any_of(headers.begin(), headers.end(),
                           [&](const auto& entry) { return entry.first == header; });
  if (known)
    return;
  if (auto value = variable(name))
    headers.emplace_back(header, *value);
}

bool starts_with(const Secret& secret, std::string_view prefix) noexcept {
  return std::string_view{secret.reveal()}.starts_with(prefix);
}

bool is_proxy(const Secret& proxy) noexcept {
  return proxy.empty() || starts_with(proxy, "http://") || starts_with(proxy, "https://")
         || starts_with(proxy, "socks5://") || starts_with(proxy, "socks5h://");
}

tl::unexpected<Error> invalid(std::string message) {
  return fail(Errc::invalid_argument, std::move(message));
}

} // namespace

const char* to_string(WireFormat format) noexcept {
  switch (format) {
  case WireFormat::protobuf:
    return "protobuf";
  case WireFormat::json:
    return "json";
  case WireFormat::automatic:
    break;
  }
  return "automatic";
}

ClientOptions with_environment(ClientOptions options) {
  fill(options.base_url, "TINKER_BASE_URL");
  if (options.base_url.empty())
    options.base_url = default_base_url;
  // A key in the environment must not overrule a command that the caller has set.
  if (options.api_key.empty() && options.credential_command.empty())
    options.api_key = variable("TINKER_API_KEY").value_or("");
  fill(options.credential_command, "TINKER_CREDENTIAL_CMD");
  if (!options.project_id)
    options.project_id = variable("TINKER_PROJECT_ID");
  if (!options.tags)
    if (const auto* tags = std::getenv("TINKER_TAGS"))
      options.tags = split_tags(tags);
  add_secret(options.secret_headers, "CF-Access-Client-Id", "CLOUDFLARE_ACCESS_CLIENT_ID");
  add_secret(options.secret_headers, "CF-Access-Client-Secret", "CLOUDFLARE_ACCESS_CLIENT_SECRET");
  fill(options.ca_file, "SSL_CERT_FILE");
  if (!options.telemetry)
    if (const auto* wish = std::getenv("TINKER_TELEMETRY"))
      options.telemetry = is_yes(wish);
  if (options.api_key.empty() && options.credential_command.empty()
      && is_loopback(options.base_url))
    options.api_key = std::string{local_api_key};
  return options;
}

Result<void> validate(const ClientOptions& options) {
  std::string_view url = options.base_url;
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return invalid(fmt::format("base_url is `{}`, but must begin with http:// or https://", url));
  if (options.api_key.empty() && options.credential_command.empty())
    return fail(
        Errc::unauthenticated,
        "there is no API key: set TINKER_API_KEY, or api_key in the options; for a server on "
        "this machine, run `tinkaf serve` and set TINKER_BASE_URL to its address");
  // Beside a command, a key that cannot be one is not used.
  if (!options.api_key.empty() && options.credential_command.empty())
    if (auto valid = validate_credential(options.api_key); !valid)
      return valid;
  for (const auto& [name, time] : {std::pair{"connect_timeout", options.connect_timeout},
                                   {"request_timeout", options.request_timeout},
                                   {"credential_timeout", options.credential_timeout},
                                   {"telemetry_drain", options.telemetry_drain},
                                   {"heartbeat_interval", options.heartbeat_interval},
                                   {"heartbeat_timeout", options.heartbeat_timeout},
                                   {"heartbeat_silence", options.heartbeat_silence}})
    if (time.count() <= 0)
      return invalid(fmt::format("{} is {} ms, but must be above 0", name, time.count()));
  if (options.proxy && !is_proxy(*options.proxy))
    return invalid("proxy must be empty or begin with http://, https:// or socks5://");
  if (options.max_connections == 0)
    return invalid("max_connections is 0, but must be at least 1");
  if (auto trace = TraceContext::create(options.trace); !trace)
    return fail(std::move(trace.error()));
  if (auto valid = validate(options.retry); !valid)
    return valid;
  for (const auto& [name, policy] : {std::pair{"restarts.pollers", &options.restarts.pollers},
                                     {"restarts.clients", &options.restarts.clients},
                                     {"restarts.services", &options.restarts.services}})
    if (auto valid = validate(*policy, name); !valid)
      return valid;
  return validate(options.polling);
}

Result<void> validate_credential(const Secret& credential) {
  if (starts_with(credential, "tml-") || is_jwt(credential))
    return {};
  return fail(Errc::unauthenticated,
              credential.empty() ? "there is no API key: set TINKER_API_KEY"
                                 : "the API key must begin with `tml-` (or be a JWT, `eyJ`)");
}

bool is_jwt(const Secret& credential) noexcept {
  return starts_with(credential, "eyJ");
}

HttpClientOptions http_client_options(const ClientOptions& options) {
  auto proxy = options.proxy;
  if (!proxy && is_loopback(options.base_url))
    proxy = Secret{};
  return {.base_url = options.base_url,
          .user_agent = user_agent(),
          .connect_timeout = options.connect_timeout,
          .ca_file = options.ca_file,
          .verify_tls = options.verify_tls,
          .force_http1 = options.force_http1,
          .proxy = std::move(proxy),
          .max_connections = options.max_connections};
}

} // namespace tinkaf

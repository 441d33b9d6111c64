// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_client.hpp"
#include "api/poll_policy.hpp"
#include "api/retry_policy.hpp"
#include "api/sampling_policy.hpp"
#include "api/trace_context.hpp"
#include "messages/error.hpp"
#include "messages/future.hpp"
#include "messages/restart_policy.hpp"
#include "messages/secret.hpp"
#include "messages/session.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf {

/// How training requests, and the results of training and sampling, travel.
enum class WireFormat : std::uint8_t {
  /// Protobuf; JSON for the rest of the session once the service has refused protobuf.
  automatic,
  protobuf,
  json,
};

/// Returns "automatic", "protobuf" or "json".
[[nodiscard]] const char* to_string(WireFormat format) noexcept;

/// Everything that a caller may tune, with defaults that work.
///
/// A field that the caller has set wins over the environment, which wins over the default. Nothing
/// but `with_environment` reads the environment.
struct ClientOptions {
  /// Address of the service, with a path of its own if it has one. Env: TINKER_BASE_URL.
  std::string base_url;

  /// API key (`tml-…`) or JWT (`eyJ…`). Env: TINKER_API_KEY. A service on this machine (plain http
  /// to a loopback address) needs none.
  Secret api_key;

  /// Shell command that prints a credential; used where no key is set, or where the service says
  /// so, each time one is needed. Its error output and exit code are not looked at. Env:
  /// TINKER_CREDENTIAL_CMD.
  std::string credential_command;

  /// Time for `credential_command`; then it is killed.
  std::chrono::milliseconds credential_timeout{30'000};

  /// Env: TINKER_PROJECT_ID.
  std::optional<std::string> project_id;

  /// Labels of the session. Env: TINKER_TAGS, separated by commas.
  std::optional<std::vector<std::string>> tags;

  /// Free text by name, stored with the session.
  UserMetadata user_metadata;

  /// Sent with every request, over ours of the same name.
  HttpHeaders default_headers;

  /// As `default_headers`, for values that must not be printed. Env: CLOUDFLARE_ACCESS_CLIENT_ID
  /// and CLOUDFLARE_ACCESS_CLIENT_SECRET add a header each.
  HttpHeaders secret_headers;

  /// Time to open a connection, TLS included.
  std::chrono::milliseconds connect_timeout{5'000};

  /// Time for one HTTP exchange, not for a whole training step.
  std::chrono::milliseconds request_timeout{60'000};

  std::chrono::milliseconds heartbeat_interval{10'000};
  std::chrono::milliseconds heartbeat_timeout{10'000};

  /// Warn once no heartbeat has succeeded for this long.
  std::chrono::milliseconds heartbeat_silence{120'000};

  /// File with the authorities to trust; the system's if empty. Env: SSL_CERT_FILE.
  std::string ca_file;
  bool verify_tls = true;
  bool force_http1 = false;

  /// Proxy for all requests, for example "http://user:password@host:3128"; never printed. Unset:
  /// what `http_proxy`, `https_proxy`, `all_proxy` and `no_proxy` say, except that a service on
  /// this machine is called directly.
  std::optional<Secret> proxy;

  std::size_t max_connections = 1'000;

  WireFormat wire_format = WireFormat::automatic;

  /// Trace headers on every request; a `traceparent` in `default_headers` comes before them.
  TraceOptions trace;

  /// Tell the service about the session and about failed calls, without any text of the user's;
  /// see docs/telemetry.md. Env: TINKER_TELEMETRY, on unless it is set to anything but 1, true, yes
  /// or on.
  std::optional<bool> telemetry;

  /// How long `Service::close` waits for telemetry that is still to be sent.
  std::chrono::milliseconds telemetry_drain{2'000};

  RetryPolicy retry;
  PollPolicy polling;
  SamplingPolicy sampling;

  /// How often and how fast parts of the client that break are started again.
  RestartPolicies restarts;

  /// Told when the service makes an operation wait and when it goes on with it.
  QueueStateSink on_queue_state;
};

/// The service's own address, used where none is given.
inline constexpr std::string_view default_base_url
    = "https://tinker.thinkingmachines.dev/services/tinker-prod";

/// Stands in for a key where a service on this machine, which asks for none, is called.
inline constexpr std::string_view local_api_key = "tml-local";

/// Fills what `options` leaves unset from the environment, then from the defaults.
[[nodiscard]] ClientOptions with_environment(ClientOptions options);

/// Checks every field; the error names the first bad one and its value, but never a credential.
[[nodiscard]] Result<void> validate(const ClientOptions& options);

/// Checks that `credential` begins with `tml-` or `eyJ`.
/// @returns `Errc::unauthenticated`, which never holds the credential
[[nodiscard]] Result<void> validate_credential(const Secret& credential);

/// True if `credential` is a JWT rather than an API key.
[[nodiscard]] bool is_jwt(const Secret& credential) noexcept;

/// The part of the options that the HTTP client needs.
[[nodiscard]] HttpClientOptions http_client_options(const ClientOptions& options);

} // namespace tinkaf

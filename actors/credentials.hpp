// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/credential_command.hpp"
#include "messages/error.hpp"
#include "messages/secret.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace tinkaf {

/// Replaces a secret wherever it stands in a text; one that is too short to be told from a word
/// stays.
void blot_out(std::string& text, const Secret& secret);

/// Asks for a credential; the answer comes later, on any thread.
using CredentialFetch = std::function<void(CredentialCallback)>;

/// Knows which credential goes with which request. Makes no request and runs no command itself.
///
/// The rules are those of the official SDK: a JWT is used as it is; a command that the service
/// enforces comes before a key, one that it does not behind it; where the service wants an
/// exchange, all but the first calls carry the token. Beyond them, a token that does not tell its
/// end is taken to last two minutes, and a command's output is kept until the end that it tells, if
/// it does.
class Credentials {
public:
  using TimePoint = std::chrono::system_clock::time_point;

  /// What a request is, for its credential.
  enum class Use : std::uint8_t {
    /// `client/config`: nothing is known yet.
    config,
    /// `auth/token`.
    exchange,
    /// All else.
    session,
  };

  /// Where the credential of a request comes from.
  enum class Source : std::uint8_t {
    /// It is at hand: see `Choice::secret`.
    ready,
    /// The command has to be run.
    command,
    /// The credential has to be exchanged first; until then there is an old token, or none.
    exchange,
    /// There is none.
    none,
  };

  struct Choice {
    Source source = Source::none;
    Secret secret;
  };

  explicit Credentials(Secret key = {}, bool has_command = false)
      : key_(std::move(key)), has_command_(has_command) {}

  [[nodiscard]] Choice choose(Use use, TimePoint now) const;

  /// From now on calls carry a token.
  void require_exchange(bool command_enforced);

  void set_token(Secret token, TimePoint now);
  void set_command_output(Secret output, TimePoint now);

  /// An exchange has failed: the next one waits for ten seconds.
  void exchange_failed(TimePoint now);

  /// A run of the command has failed: the next one in the background waits for a minute.
  void command_failed(TimePoint now);

  /// How long until the token, or the command's output, is to be renewed in the background; nothing
  /// if there is nothing to renew.
  [[nodiscard]] std::optional<std::chrono::seconds> renewal_in(TimePoint now) const;

  [[nodiscard]] bool exchanges() const noexcept {
    return exchanges_;
  }

  [[nodiscard]] const Secret& token() const noexcept {
    return token_.secret;
  }

  /// Blots out every credential that is known, should a service have echoed one.
  void scrub(std::string& text) const;

private:
  struct Token {
    Secret secret;

    /// As told by the token, or assumed; nothing if it lasts.
    std::optional<TimePoint> expiry;
    TimePoint renewal;
  };

  [[nodiscard]] Choice raw(Use use, TimePoint now) const;

  Secret key_;
  bool has_command_ = false;
  bool exchanges_ = false;
  bool command_enforced_ = false;
  Token token_;
  Token output_;
  std::optional<TimePoint> no_exchange_before_;
};

} // namespace tinkaf

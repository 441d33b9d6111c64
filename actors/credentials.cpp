// SPDX-License-Identifier: Apache-2.0
#include "actors/credentials.hpp"

#include "actors/access_token.hpp"
#include "api/client_options.hpp"

#include <algorithm>

namespace tinkaf {

namespace {

using namespace std::chrono_literals;

/// A token that ends sooner is exchanged before it is used.
constexpr auto least_remaining = 60s;

/// How long a token lasts that does not say.
constexpr auto assumed_life = 120s;

constexpr auto pause_after_failure = 10s;

} // namespace

void blot_out(std::string& text, const Secret& secret) {
  constexpr std::size_t shortest = 5; // less would blot out words
  if (secret.reveal().size() < shortest)
    return;
  for (auto at = text.find(secret.reveal()); at != std::string::npos;
       at = text.find(secret.reveal(), at))
    text.replace(at, secret.reveal().size(), to_string(secret));
}

Credentials::Choice Credentials::choose(Use use, TimePoint now) const {
  if (use != Use::session || !exchanges_)
    return raw(use, now);
  auto fresh = token_.expiry && *token_.expiry - now > least_remaining;
  auto too_early = no_exchange_before_ && now < *no_exchange_before_;
  return {fresh || too_early ? Source::ready : Source::exchange, token_.secret};
}

Credentials::Choice Credentials::raw(Use use, TimePoint now) const {
  if (is_jwt(key_))
    return {Source::ready, key_};
  auto enforced = command_enforced_ && use == Use::exchange;
  if (!enforced && validate_credential(key_))
    return {Source::ready, key_};
  if (!has_command_)
    return {};
  auto lasts
      = !output_.secret.empty() && (!output_.expiry || *output_.expiry - now > least_remaining);
  // An exchange is rare and decides about all that follows: it gets a credential of its own.
  if (lasts && use != Use::exchange)
    return {Source::ready, output_.secret};
  return {Source::command, use == Use::exchange ? Secret{} : output_.secret};
}

void Credentials::require_exchange(bool command_enforced) {
  exchanges_ = true;
  command_enforced_ = command_enforced;
}

void Credentials::set_token(Secret token, TimePoint now) {
  token_.expiry = expiry_of(token).value_or(now + assumed_life);
  token_.renewal = now + renewal_delay(token, now);
  token_.secret = std::move(token);
  no_exchange_before_.reset();
}

void Credentials::set_command_output(Secret output, TimePoint now) {
  output_.expiry = expiry_of(output);
  output_.renewal = now + renewal_delay(output, now);
  output_.secret = std::move(output);
}

void Credentials::exchange_failed(TimePoint now) {
  no_exchange_before_ = now + pause_after_failure;
  token_.renewal = now + 60s;
}

void Credentials::command_failed(TimePoint now) {
  output_.renewal = now + 60s;
}

std::optional<std::chrono::seconds> Credentials::renewal_in(TimePoint now) const {
  const auto& due = exchanges_ ? token_ : output_;
  if (due.secret.empty() || !due.expiry)
    return std::nullopt;
  return std::max(std::chrono::ceil<std::chrono::seconds>(due.renewal - now), 0s);
}

void Credentials::scrub(std::string& text) const {
  blot_out(text, key_);
  blot_out(text, token_.secret);
  blot_out(text, output_.secret);
}

} // namespace tinkaf

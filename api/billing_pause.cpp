// SPDX-License-Identifier: Apache-2.0
#include "api/billing_pause.hpp"

namespace tinkaf {

namespace {

constexpr std::chrono::seconds pause{5};
constexpr std::chrono::seconds warn_every{60};

/// A 402 this long after the last warning begins a new incident.
constexpr std::chrono::seconds quiet_ends_incident{300};

} // namespace

BillingPause::BillingPause(std::chrono::milliseconds max_pause) : max_pause_(max_pause) {}

BillingPause::Decision BillingPause::on_payment_required(TimePoint now) {
  if (!began_ || !warned_ || now - *warned_ > quiet_ends_incident) {
    began_ = now;
    warned_.reset();
  }
  if (now - *began_ > max_pause_)
    return {};
  auto warn = !warned_ || now - *warned_ >= warn_every;
  if (warn)
    warned_ = now;
  return {.delay = pause, .warn = warn};
}

} // namespace tinkaf

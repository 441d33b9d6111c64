// SPDX-License-Identifier: Apache-2.0
#include "engine/spend_cap.hpp"

#include <fmt/format.h>

#include <cmath>

namespace tinkaf {

SpendCap::SpendCap(double limit, const Price& price, ForwardRate forwards)
    : limit_(limit), price_(price), forwards_(forwards) {}

Result<std::shared_ptr<SpendCap>> SpendCap::make(double limit_usd, const Price& price,
                                                 ForwardRate forwards) {
  if (!std::isfinite(limit_usd) || limit_usd < 0.0)
    return fail(Errc::invalid_argument,
                fmt::format("limit_usd is {}, but must be a number from 0 on", limit_usd));
  if (auto valid = validate(price); !valid)
    return fail(std::move(valid.error()));
  return std::shared_ptr<SpendCap>{new SpendCap{limit_usd, price, forwards}};
}

Result<void> SpendCap::fits(const TokenPasses& tokens) const {
  auto projected = cost(spent_ + reserved_ + tokens, price_);
  if (projected <= limit_ || tokens == TokenPasses{})
    return {};
  return fail(
      Errc::invalid_argument,
      fmt::format("{} USD more would make {} USD, above the spend cap of {} USD; {} USD are "
                  "spent and {} USD under way",
                  cost(tokens, price_), projected, limit_, cost(spent_, price_),
                  cost(reserved_, price_)));
}

Result<void> SpendCap::check(const TokenPasses& tokens) const {
  std::lock_guard lock{mutex_};
  return fits(tokens);
}

Result<void> SpendCap::reserve(const TokenPasses& tokens) {
  std::lock_guard lock{mutex_};
  auto fitting = fits(tokens);
  if (fitting)
    reserved_ += tokens;
  return fitting;
}

void SpendCap::settle(const TokenPasses& tokens) {
  std::lock_guard lock{mutex_};
  reserved_ -= tokens;
  spent_ += tokens;
}

void SpendCap::release(const TokenPasses& tokens) {
  std::lock_guard lock{mutex_};
  reserved_ -= tokens;
}

double SpendCap::spent() const {
  std::lock_guard lock{mutex_};
  return cost(spent_, price_);
}

double SpendCap::reserved() const {
  std::lock_guard lock{mutex_};
  return cost(reserved_, price_);
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "server/token_table.hpp"

#include "api/wire/base64.hpp"
#include "server/ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tinkaf::server {

namespace {

/// How long an expired token is remembered as such.
constexpr std::chrono::hours memory{1};

std::string base64url(std::string_view bytes) {
  auto out = wire::to_base64(bytes);
  std::replace(out.begin(), out.end(), '+', '-');
  std::replace(out.begin(), out.end(), '/', '_');
  out.erase(out.find_last_not_of('=') + 1);
  return out;
}

std::int64_t seconds(Timestamp time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time.time_since_epoch()).count();
}

} // namespace

std::string TokenTable::issue(Timestamp now) {
  const auto expiry = now + life_;
  auto token = fmt::format("{}.{}.{}", base64url(R"({"alg":"none","typ":"JWT"})"),
                           base64url(fmt::format(R"({{"sub":"local","iat":{},"exp":{}}})",
                                                 seconds(now), seconds(expiry))),
                           base64url(make_secret()));
  const std::lock_guard lock{mutex_};
  std::erase_if(expiries_, [now](const auto& entry) { return entry.second + memory <= now; });
  expiries_[token] = expiry;
  return token;
}

TokenTable::State TokenTable::check(const std::string& token, Timestamp now) const {
  const std::lock_guard lock{mutex_};
  const auto found = expiries_.find(token);
  if (found == expiries_.end())
    return State::unknown;
  return found->second <= now ? State::expired : State::good;
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#include "server/request_checks.hpp"

#include "server/http/uri.hpp"

#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace tinkaf::server {

namespace {

constexpr std::int64_t largest_page = 1000;

Result<std::int64_t> read_number(const HttpCall& call, std::string_view name, std::int64_t least,
                                 std::int64_t most, std::int64_t otherwise) {
  const auto text = query_value(call.query, name);
  if (!text)
    return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || value < least || value > most)
    return fail(
        Errc::invalid_argument,
        most == std::numeric_limits<std::int64_t>::max()
            ? fmt::format("{}: must be an integer of at least {}, but is `{}`", name, least, *text)
            : fmt::format("{}: must be an integer in [{}, {}], but is `{}`", name, least, most,
                          *text));
  return value;
}

} // namespace

Result<void> check_ttl(std::optional<std::int64_t> seconds) {
  constexpr std::int64_t longest = 100LL * 365 * 24 * 3600;
  if (seconds && (*seconds < 1 || *seconds > longest))
    return fail(Errc::invalid_argument,
                fmt::format("ttl_seconds: must be in [1, {}], but is {}", longest, *seconds));
  return {};
}

Error bad_checkpoint_id(const std::string& id) {
  return {.code = Errc::invalid_argument,
          .message = fmt::format("Invalid checkpoint identifier. Expected format 'weights/<name>' "
                                 "or 'sampler_weights/<name>', but it is '{}'",
                                 id)};
}

Result<TinkerPath> named_checkpoint(const HttpCall& call) {
  const auto& kind = call.arguments.at(1);
  const auto& name = call.arguments.at(2);
  if (const auto known = checkpoint_kind_of(kind))
    return TinkerPath{call.arguments.at(0), *known, name};
  return fail(bad_checkpoint_id(kind + '/' + name));
}

Result<void> check_access_scope(const HttpCall& call) {
  const auto scope = query_value(call.query, "access_scope");
  if (scope && *scope != "owned" && *scope != "accessible")
    return fail(Errc::invalid_argument,
                fmt::format("access_scope: must be owned or accessible, but is `{}`", *scope));
  return {};
}

Result<Page> read_page(const HttpCall& call, std::int64_t default_limit) {
  if (auto good = check_access_scope(call); !good)
    return fail(std::move(good.error()));
  const auto limit = read_number(call, "limit", 1, largest_page, default_limit);
  if (!limit)
    return fail(limit.error());
  const auto offset = read_number(call, "offset", 0, std::numeric_limits<std::int64_t>::max(), 0);
  if (!offset)
    return fail(offset.error());
  return Page{*limit, *offset};
}

} // namespace tinkaf::server

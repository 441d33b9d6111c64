// SPDX-License-Identifier: Apache-2.0
#include "server/http/byte_range.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace tinkaf::server {

namespace {

std::optional<std::uint64_t> number(std::string_view text) noexcept {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

} // namespace

ByteRange read_range(std::string_view header, std::uint64_t size) noexcept {
  constexpr std::string_view unit = "bytes=";
  const ByteRange whole{ByteRange::Kind::whole, 0, size};
  const auto dash = header.find('-');
  if (!header.starts_with(unit) || dash == std::string_view::npos)
    return whole;
  const auto first = header.substr(unit.size(), dash - unit.size());
  const auto last = header.substr(dash + 1);
  const auto from = number(first);
  const auto to = number(last);
  if ((!from && !first.empty()) || (!to && !last.empty()) || (!from && !to))
    return whole;
  if (from && to && *to < *from)
    return whole;
  if (from ? *from >= size : *to == 0 || size == 0)
    return {ByteRange::Kind::outside, 0, 0};
  if (!from) {
    const auto count = std::min(*to, size);
    return {ByteRange::Kind::part, size - count, count};
  }
  const auto end = to ? std::min(*to, size - 1) : size - 1;
  return {ByteRange::Kind::part, *from, end - *from + 1};
}

} // namespace tinkaf::server

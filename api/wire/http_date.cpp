// SPDX-License-Identifier: Apache-2.0
#include "api/wire/http_date.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace tinkaf::wire {

namespace {

std::optional<int> number(std::string_view digits) noexcept {
  int value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc{} || end != digits.data() + digits.size() || value < 0)
    return std::nullopt;
  return value;
}

constexpr std::array<std::string_view, 12> months{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> weekdays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};

std::optional<unsigned> month(std::string_view name) noexcept {
  for (unsigned i = 0; i < months.size(); ++i)
    if (months[i] == name)
      return i + 1;
  return std::nullopt;
}

} // namespace

std::optional<std::chrono::system_clock::time_point>
parse_http_date(std::string_view text) noexcept {
  constexpr std::string_view shape = "Sun, 06 Nov 1994 08:49:37 GMT";
  if (text.size() != shape.size() || text.substr(3, 2) != ", " || text.substr(25) != " GMT"
      || text[7] != ' ' || text[11] != ' ' || text[16] != ' ' || text[19] != ':' || text[22] != ':')
    return std::nullopt;
  auto day = number(text.substr(5, 2));
  auto mon = month(text.substr(8, 3));
  auto year = number(text.substr(12, 4));
  auto hour = number(text.substr(17, 2));
  auto minute = number(text.substr(20, 2));
  auto second = number(text.substr(23, 2));
  if (!day || !mon || !year || !hour || !minute || !second || *hour > 23 || *minute > 59
      || *second > 60)
    return std::nullopt;
  auto date = std::chrono::year{*year} / std::chrono::month{*mon}
              / std::chrono::day{static_cast<unsigned>(*day)};
  if (!date.ok())
    return std::nullopt;
  return std::chrono::sys_days{date} + std::chrono::hours{*hour} + std::chrono::minutes{*minute}
         + std::chrono::seconds{*second};
}

std::string to_http_date(std::chrono::sys_seconds time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     weekdays[std::chrono::weekday{day}.c_encoding()],
                     static_cast<unsigned>(date.day()),
                     months[static_cast<unsigned>(date.month()) - 1], static_cast<int>(date.year()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

} // namespace tinkaf::wire

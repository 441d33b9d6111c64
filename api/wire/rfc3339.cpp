// SPDX-License-Identifier: Apache-2.0
#include "api/wire/rfc3339.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>

namespace tinkaf::wire {

namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;

constexpr auto first_time = Timestamp{sys_days{std::chrono::year{1} / 1 / 1}};
constexpr auto end_of_times = Timestamp{sys_days{std::chrono::year{9999} / 12 / 31} + days{1}};

bool in_range(Timestamp time) noexcept {
  return time >= first_time && time < end_of_times;
}

/// Takes pieces of a text from the left; once one is not as wanted, all further ones fail too.
class Scanner {
public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  /// A number of exactly `count` digits in [low, high].
  int number(std::size_t count, int low, int high) noexcept {
    int value = 0;
    for (std::size_t i = 0; i < count; ++i)
      value = value * 10 + digit();
    good_ = good_ && value >= low && value <= high;
    return value;
  }

  bool accept(std::string_view any_of) noexcept {
    if (!good_ || rest_.empty() || any_of.find(rest_.front()) == std::string_view::npos)
      return false;
    last_ = rest_.front();
    rest_.remove_prefix(1);
    return true;
  }

  void expect(std::string_view any_of) noexcept {
    good_ = accept(any_of);
  }

  /// Digits of a fraction of a second, at least one.
  microseconds fraction() noexcept {
    std::int64_t value = digit();
    std::int64_t scale = 100'000;
    value *= scale;
    while (good_ && !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9') {
      scale /= 10;
      value += digit() * scale;
    }
    return microseconds{value};
  }

  [[nodiscard]] char last() const noexcept {
    return last_;
  }

  [[nodiscard]] bool done() const noexcept {
    return good_ && rest_.empty();
  }

private:
  int digit() noexcept {
    good_ = good_ && !rest_.empty() && rest_.front() >= '0' && rest_.front() <= '9';
    if (!good_)
      return 0;
    auto value = rest_.front() - '0';
    rest_.remove_prefix(1);
    return value;
  }

  std::string_view rest_;
  char last_ = '\0';
  bool good_ = true;
};

minutes zone(Scanner& scanner) noexcept {
  if (scanner.accept("Zz") || !scanner.accept("+-"))
    return minutes{0};
  auto west = scanner.last() == '-';
  auto offset = hours{scanner.number(2, 0, 23)};
  scanner.expect(":");
  auto total = offset + minutes{scanner.number(2, 0, 59)};
  return west ? -total : total;
}

} // namespace

std::optional<Timestamp> parse_rfc3339(std::string_view text) noexcept {
  Scanner scanner{text};
  auto year = scanner.number(4, 1, 9999);
  scanner.expect("-");
  auto month = scanner.number(2, 1, 12);
  scanner.expect("-");
  auto day = scanner.number(2, 1, 31);
  scanner.expect("Tt ");
  auto time_of_day = microseconds{hours{scanner.number(2, 0, 23)}};
  scanner.expect(":");
  time_of_day += minutes{scanner.number(2, 0, 59)};
  scanner.expect(":");
  time_of_day += seconds{scanner.number(2, 0, 60)};
  if (scanner.accept("."))
    time_of_day += scanner.fraction();
  auto offset = zone(scanner);
  auto date = std::chrono::year{year} / month / day;
  if (!scanner.done() || !date.ok())
    return std::nullopt;
  auto time = Timestamp{sys_days{date}} + time_of_day - offset;
  return in_range(time) ? std::optional{time} : std::nullopt;
}

std::string to_rfc3339(Timestamp time) {
  auto day = std::chrono::floor<days>(time);
  auto date = std::chrono::year_month_day{day};
  auto clock = std::chrono::hh_mm_ss{time - day};
  auto text = fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                          static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                          clock.hours().count(), clock.minutes().count(), clock.seconds().count());
  if (auto fraction = clock.subseconds().count(); fraction != 0)
    text += fmt::format(".{:06}", fraction);
  return text + 'Z';
}

std::optional<Timestamp> from_unix_number(double number) noexcept {
  constexpr double last_seconds = 2e10;
  if (!std::isfinite(number))
    return std::nullopt;
  auto in_seconds = std::abs(number) <= last_seconds ? number : number / 1e3;
  // Well outside of all years, well inside of what an integer holds.
  if (std::abs(in_seconds) > 1e12)
    return std::nullopt;
  auto time = Timestamp{microseconds{std::llround(in_seconds * 1e6)}};
  return in_range(time) ? std::optional{time} : std::nullopt;
}

} // namespace tinkaf::wire

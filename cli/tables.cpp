// SPDX-License-Identifier: Apache-2.0
#include "cli/tables.hpp"

#include "api/wire/json_parse.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/prettywriter.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <chrono>
#include <cstddef>

namespace tinkaf::cli {

namespace {

using namespace std::chrono_literals;

std::string counted(std::int64_t count, std::string_view unit) {
  return fmt::format("{} {}{}", count, unit, count == 1 ? "" : "s");
}

/// A span of less than 31 days in its largest fitting unit.
std::string span_text(std::chrono::seconds span) {
  using std::chrono::days;
  using std::chrono::duration_cast;
  if (span < 1h)
    return counted(duration_cast<std::chrono::minutes>(span).count(), "minute");
  if (span < days{1})
    return counted(duration_cast<std::chrono::hours>(span).count(), "hour");
  if (span < days{8})
    return counted(duration_cast<days>(span).count(), "day");
  return counted(duration_cast<std::chrono::weeks>(span).count(), "week");
}

std::string date_text(Timestamp time) {
  const auto date = std::chrono::year_month_day{std::chrono::floor<std::chrono::days>(time)};
  return fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
}

/// Columns of a text in UTF-8 whose characters are one column wide.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char x) {
    return (static_cast<unsigned char>(x) & 0xC0U) != 0x80U;
  }));
}

std::string printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char x) { return std::iscntrl(static_cast<unsigned char>(x)); },
      '?');
  return text;
}

bool is_time(std::string_view name) {
  constexpr auto names = std::array<std::string_view, 3>{"time", "expires_at", "last_request_time"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// "2026-03-04T05:06:07Z" with a blank and a zone in figures.
std::string spaced_time(std::string text) {
  if (text.size() > 10 && text[10] == 'T' && text.back() == 'Z') {
    text[10] = ' ';
    text.replace(text.size() - 1, 1, "+00:00");
  }
  return text;
}

void space_times(rapidjson::Value& value, rapidjson::Document::AllocatorType& allocator) {
  if (value.IsArray())
    for (auto& entry : value.GetArray())
      space_times(entry, allocator);
  if (!value.IsObject())
    return;
  // By number: in C++20 the iterators' operator is ambiguous.
  for (rapidjson::SizeType i = 0; i < value.MemberCount(); ++i) {
    auto& member = value.MemberBegin()[static_cast<std::ptrdiff_t>(i)];
    if (member.value.IsString() && is_time(member.name.GetString()))
      member.value.SetString(spaced_time(member.value.GetString()).c_str(), allocator);
    else
      space_times(member.value, allocator);
  }
}

} // namespace

std::string size_text(std::optional<std::int64_t> bytes) {
  if (!bytes || *bytes < 0)
    return "N/A";
  if (*bytes < 1024)
    return fmt::format("{} B", *bytes);
  auto size = static_cast<double>(*bytes);
  auto unit = std::string_view{};
  for (const auto* next : {"KB", "MB", "GB", "TB", "PB"}) {
    if (size < 1024)
      break;
    size /= 1024;
    unit = next;
  }
  return fmt::format("{:.1f} {}", size, unit);
}

std::string time_text(std::optional<Timestamp> time, Timestamp now) {
  if (!time)
    return "N/A";
  const auto ahead = *time > now;
  const auto span
      = std::chrono::duration_cast<std::chrono::seconds>(ahead ? *time - now : now - *time);
  if (span > std::chrono::days{30})
    return date_text(*time);
  if (span < 1min)
    return ahead ? "in less than a minute" : "just now";
  return ahead ? "in " + span_text(span) : span_text(span) + " ago";
}

std::string table_text(const std::vector<std::string>& head,
                       const std::vector<std::vector<std::string>>& rows) {
  auto widths = std::vector<std::size_t>(head.size());
  auto measure = [&](const std::vector<std::string>& row) {
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], width(printable(row[i])));
  };
  measure(head);
  for (const auto& row : rows)
    measure(row);
  auto result = std::string{};
  auto add = [&](const std::vector<std::string>& row) {
    auto line = std::string{};
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto text = printable(row[i]);
      line += text + std::string(widths[i] - width(text) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  };
  add(head);
  auto rules = std::vector<std::string>{};
  for (const auto columns : widths)
    rules.emplace_back(columns, '-');
  add(rules);
  for (const auto& row : rows)
    add(row);
  return result;
}

std::string pretty_json(std::string_view json) {
  auto document = wire::parse_document(json);
  if (!document)
    return std::string{json};
  space_times(*document, document->GetAllocator());
  rapidjson::StringBuffer buffer;
  rapidjson::PrettyWriter<rapidjson::StringBuffer> writer{buffer};
  writer.SetIndent(' ', 2);
  document->Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

std::string json_text(std::string_view text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return {buffer.GetString(), buffer.GetSize()};
}

} // namespace tinkaf::cli

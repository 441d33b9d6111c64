// SPDX-License-Identifier: Apache-2.0
#include "train/data_row.hpp"

#include <fmt/format.h>
#include <rapidjson/document.h>
#include <rapidjson/error/en.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace tinkaf::train {

namespace {

using Json = rapidjson::Value;

constexpr auto roles = std::array<std::string_view, 3>{"system", "user", "assistant"};

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

const Json* member(const Json& object, const char* name) {
  const auto found = object.FindMember(name);
  return found == object.MemberEnd() ? nullptr : &found->value;
}

const char* type_of(const Json& value) {
  switch (value.GetType()) {
  case rapidjson::kNullType:
    return "null";
  case rapidjson::kFalseType:
  case rapidjson::kTrueType:
    return "a boolean";
  case rapidjson::kObjectType:
    return "an object";
  case rapidjson::kArrayType:
    return "an array";
  case rapidjson::kStringType:
    return "a string";
  case rapidjson::kNumberType:
    return "a number";
  }
  return "something else";
}

/// The reason why a row is bad, without its place.
tl::unexpected<std::string> bad(std::string reason) {
  return tl::unexpected(std::move(reason));
}

template <class T>
using Read = tl::expected<T, std::string>;

Read<std::string> text_of(const Json& object, const char* name, const std::string& field) {
  const auto* value = member(object, name);
  if (value == nullptr)
    return bad(fmt::format("field \"{}\" is missing", field));
  if (!value->IsString())
    return bad(fmt::format("field \"{}\" must be a string, but is {}", field, type_of(*value)));
  return std::string{value->GetString(), value->GetStringLength()};
}

Read<ChatMessage> read_message(const Json& value, std::size_t index) {
  const auto field = fmt::format("messages[{}]", index);
  if (!value.IsObject())
    return bad(fmt::format("field \"{}\" must be an object, but is {}", field, type_of(value)));
  auto role = text_of(value, "role", field + ".role");
  if (!role)
    return bad(role.error());
  if (std::find(roles.begin(), roles.end(), *role) == roles.end())
    return bad(fmt::format("field \"{}.role\" must be one of system, user, assistant, but is "
                           "\"{}\"",
                           field, *role));
  auto content = text_of(value, "content", field + ".content");
  if (!content)
    return bad(content.error());
  return ChatMessage{std::move(*role), std::move(*content)};
}

Read<Conversation> read_conversation(const Json& messages) {
  if (!messages.IsArray())
    return bad(fmt::format("field \"messages\" must be an array, but is {}", type_of(messages)));
  auto result = Conversation{};
  for (const auto& value : messages.GetArray()) {
    auto message = read_message(value, result.size());
    if (!message)
      return bad(message.error());
    result.push_back(std::move(*message));
  }
  const auto answers = [](const ChatMessage& x) { return x.role == "assistant"; };
  if (std::none_of(result.begin(), result.end(), answers))
    return bad("field \"messages\" holds no message of the assistant, so there is nothing to "
               "learn");
  return result;
}

Read<PromptCompletion> read_prompt(const Json& object) {
  auto prompt = text_of(object, "prompt", "prompt");
  if (!prompt)
    return bad(prompt.error());
  auto completion = text_of(object, "completion", "completion");
  if (!completion)
    return bad(completion.error());
  return PromptCompletion{std::move(*prompt), std::move(*completion)};
}

/// Reads a line as an object.
Read<rapidjson::Document> read_object(std::string_view text) {
  // Iterative, so that deep nesting cannot exhaust the stack.
  constexpr auto flags = rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag;
  auto json = rapidjson::Document{};
  json.Parse<flags>(text.data(), text.size());
  if (json.HasParseError())
    return bad(fmt::format("not valid JSON at column {}: {}", json.GetErrorOffset() + 1,
                           rapidjson::GetParseError_En(json.GetParseError())));
  if (!json.IsObject())
    return bad(fmt::format("a row must be an object, but this is {}", type_of(json)));
  return json;
}

Read<DataRow> read_row(std::string_view text, std::size_t line) {
  const auto object = read_object(text);
  if (!object)
    return bad(object.error());
  const auto& json = *object;
  const auto* messages = member(json, "messages");
  if (messages == nullptr && !json.HasMember("prompt") && !json.HasMember("completion"))
    return bad("fields \"prompt\" and \"completion\" are missing (or \"messages\" for a chat)");
  if (messages == nullptr) {
    auto row = read_prompt(json);
    if (!row)
      return bad(row.error());
    return DataRow{line, std::move(*row)};
  }
  if (json.HasMember("prompt") || json.HasMember("completion"))
    return bad("a row has either \"prompt\" and \"completion\" or \"messages\", but this one has "
               "both");
  auto row = read_conversation(*messages);
  if (!row)
    return bad(row.error());
  return DataRow{line, std::move(*row)};
}

Read<PreferenceRow> read_preference(std::string_view text, std::size_t line) {
  const auto json = read_object(text);
  if (!json)
    return bad(json.error());
  auto row = PreferenceRow{.line = line};
  for (const auto& [name, field] :
       {std::pair{"prompt", &row.prompt}, std::pair{"chosen", &row.chosen},
        std::pair{"rejected", &row.rejected}}) {
    auto value = text_of(*json, name, name);
    if (!value)
      return bad(value.error());
    *field = std::move(*value);
  }
  if (row.chosen == row.rejected)
    return bad("fields \"chosen\" and \"rejected\" are the same");
  return row;
}

Result<std::string> read_text(const std::filesystem::path& file) {
  auto failed = std::error_code{};
  if (std::filesystem::is_directory(file, failed))
    return fail(Errc::io_error, fmt::format("cannot read {}: it is a folder", file.string()));
  errno = 0;
  auto stream = std::ifstream{file, std::ios::binary};
  if (!stream)
    return fail(Errc::io_error,
                fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
  auto text = std::string{std::istreambuf_iterator<char>{stream}, {}};
  if (stream.bad())
    return fail(Errc::io_error, fmt::format("cannot read {}", file.string()));
  return text;
}

/// Reads all lines that are not blank.
template <class Row, class ReadRow>
Result<std::vector<Row>> parse_lines(std::string_view text, std::string_view name,
                                     ReadRow read_one) {
  if (text.starts_with(byte_order_mark))
    text.remove_prefix(byte_order_mark.size());
  auto rows = std::vector<Row>{};
  for (std::size_t line = 1; !text.empty(); ++line) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.find_first_not_of(" \t\r") == std::string_view::npos)
      continue;
    auto read = read_one(row, line);
    if (!read)
      return fail(Errc::invalid_argument, fmt::format("{}:{}: {}", name, line, read.error()));
    rows.push_back(std::move(*read));
  }
  if (rows.empty())
    return fail(Errc::invalid_argument, fmt::format("{} holds no rows", name));
  return rows;
}

} // namespace

Result<std::vector<DataRow>> read_rows(const std::filesystem::path& file) {
  const auto text = read_text(file);
  return text ? parse_rows(*text, file.string()) : fail(text.error());
}

Result<std::vector<DataRow>> parse_rows(std::string_view text, std::string_view name) {
  return parse_lines<DataRow>(text, name, read_row);
}

Result<std::vector<PreferenceRow>> read_preferences(const std::filesystem::path& file) {
  const auto text = read_text(file);
  return text ? parse_preferences(*text, file.string()) : fail(text.error());
}

Result<std::vector<PreferenceRow>> parse_preferences(std::string_view text, std::string_view name) {
  return parse_lines<PreferenceRow>(text, name, read_preference);
}

} // namespace tinkaf::train

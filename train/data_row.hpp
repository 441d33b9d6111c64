// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "text/chat_template.hpp"

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tinkaf::train {

/// A text and how it should go on.
struct PromptCompletion {
  std::string prompt;
  std::string completion;

  friend bool operator==(const PromptCompletion&, const PromptCompletion&) = default;
};

using text::ChatMessage;
using text::Conversation;

/// One example as it stands in a data file.
struct DataRow {
  /// Number of its line, from 1.
  std::size_t line = 0;

  std::variant<PromptCompletion, Conversation> content;

  friend bool operator==(const DataRow&, const DataRow&) = default;
};

/// Reads a file of JSON objects, one a line: `{"prompt": …, "completion": …}` or
/// `{"messages": [{"role": …, "content": …}, …]}`. Blank lines and other fields are skipped.
/// @returns `Errc::io_error` if the file cannot be read; `Errc::invalid_argument` naming file, line
///          and field of the first bad row, or the file if it has no rows
[[nodiscard]] Result<std::vector<DataRow>> read_rows(const std::filesystem::path& file);

/// Reads the text of such a file.
/// @param name what to call it in errors
[[nodiscard]] Result<std::vector<DataRow>> parse_rows(std::string_view text, std::string_view name);

/// A prompt with an answer that is wanted and one that is not.
struct PreferenceRow {
  std::string prompt;
  std::string chosen;
  std::string rejected;

  /// Line of the data file.
  std::size_t line = 0;
};

/// Reads a file of JSON objects, one a line: `{"prompt": …, "chosen": …, "rejected": …}`. Blank
/// lines and other fields are skipped.
/// @returns as `read_rows`
[[nodiscard]] Result<std::vector<PreferenceRow>>
read_preferences(const std::filesystem::path& file);

/// Reads the text of such a file.
/// @param name what to call it in errors
[[nodiscard]] Result<std::vector<PreferenceRow>> parse_preferences(std::string_view text,
                                                                   std::string_view name);

} // namespace tinkaf::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/openai/answer.hpp"

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tinkaf::server::openai {

/// Writes the server-sent events of an answer while it comes into being: each tells one token of a
/// choice, or as many as it takes to make up a character; then the reason of its end. A token is
/// held back as long as a text to stop at may begin in it.
class Events {
public:
  /// @param answer outlives this object; its choices are not looked at
  Events(const Answer& answer, std::vector<std::string> stop)
      : answer_(answer), stop_(std::move(stop)) {}

  /// A token of the prompt, ahead of a choice that echoes it.
  void echo(std::size_t choice, Piece piece);

  /// The next token of a choice. From a text to stop at on, nothing of the choice is told.
  void add(std::size_t choice, Piece piece);

  void finish(std::size_t choice, StopReason reason);

  /// The usage, which the answer knows by now, if that is wanted; and that nothing comes any more.
  void close(bool with_usage);

  /// What has gone wrong, in the place of what was to come.
  /// @param error in OpenAI's form
  void fail(std::string_view error);

  /// The events since the last call.
  [[nodiscard]] std::string take();

private:
  /// A choice that is not complete.
  struct Open {
    std::vector<Piece> held;
    std::string text;       ///< of what is held
    std::size_t offset = 0; ///< of what is held in the text of the choice
    bool cut = false;       ///< at a text to stop at
  };

  Open& open(std::size_t choice);
  void release(std::size_t choice, Open& open, std::size_t limit);
  void tell(std::size_t choice, Open& open, std::size_t count);
  void write(std::string_view data);

  const Answer& answer_;
  const std::vector<std::string> stop_;
  std::map<std::size_t, Open> open_;
  std::string written_;
};

} // namespace tinkaf::server::openai

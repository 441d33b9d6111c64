// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace tinkaf::cli {

/// How far a run is.
struct ProgressState {
  std::size_t done = 0;

  /// At least 1.
  std::size_t steps = 1;

  /// The headline of the last step: for supervised training the mean loss per token, in nats.
  double loss = 0.0;

  double tokens_per_second = 0.0;

  /// Time that is left; absent while unknown.
  std::optional<std::chrono::seconds> left;

  /// What the headline is called.
  std::string headline = "loss";
};

/// A time as people read it: "7s", "2m05s", "1h02m".
[[nodiscard]] std::string duration_text(std::chrono::seconds time);

/// A headline as people read it; what rounds to nothing has no sign.
[[nodiscard]] std::string four_places(double value);

/// One line with a bar, for a terminal.
/// @param width columns of the terminal; the bar takes what the numbers leave
[[nodiscard]] std::string progress_bar(const ProgressState& state, std::size_t width);

/// One line without a bar, for a file or a pipe.
[[nodiscard]] std::string progress_line(const ProgressState& state);

/// Shows the progress of a run: a bar that moves on a terminal, else some twenty plain lines.
class Progress {
public:
  /// @param out stays open longer than this
  /// @param before steps that were done when the time began
  /// @param headline what is shown of each step
  Progress(std::FILE* out, std::size_t steps, std::size_t before = 0,
           std::string headline = "loss");

  /// Ends the bar's line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// A step is done.
  /// @param step counted from 0
  void step_done(std::size_t step, double loss, std::int64_t tokens);

  /// Tokens of all steps by the time since the start.
  [[nodiscard]] double tokens_per_second() const;

private:
  using Clock = std::chrono::steady_clock;

  std::FILE* out_;
  std::size_t steps_;
  std::size_t before_;
  std::string headline_;
  bool terminal_;
  bool bar_shown_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point drawn_{};
  std::int64_t tokens_ = 0;
};

/// Columns of the terminal behind `out`; 80 if unknown.
[[nodiscard]] std::size_t terminal_width(std::FILE* out);

/// True if `out` is a terminal.
[[nodiscard]] bool is_terminal(std::FILE* out);

} // namespace tinkaf::cli

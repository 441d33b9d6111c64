// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace tinkaf::cli {

namespace {

constexpr auto redraw_interval = std::chrono::milliseconds{100};
constexpr std::size_t plain_lines = 20;

std::string numbers(const ProgressState& state) {
  auto text = fmt::format("{} {}  {:.0f} tok/s", state.headline, four_places(state.loss),
                          state.tokens_per_second);
  if (state.left)
    text += "  ETA " + duration_text(*state.left);
  return text;
}

} // namespace

std::string duration_text(std::chrono::seconds time) {
  const auto seconds = time.count();
  if (seconds < 60)
    return fmt::format("{}s", seconds);
  if (seconds < 3600)
    return fmt::format("{}m{:02}s", seconds / 60, seconds % 60);
  return fmt::format("{}h{:02}m", seconds / 3600, seconds % 3600 / 60);
}

std::string four_places(double value) {
  auto text = fmt::format("{:.4f}", value);
  return text == "-0.0000" ? text.substr(1) : text;
}

std::string progress_bar(const ProgressState& state, std::size_t width) {
  const auto head = fmt::format("{:>{}}/{} steps ", state.done,
                                fmt::formatted_size("{}", state.steps), state.steps);
  const auto tail = " " + numbers(state);
  constexpr std::size_t brackets = 2;
  const auto taken = head.size() + tail.size() + brackets;
  const auto room = std::clamp<std::size_t>(width > taken ? width - taken : 0, 0, 30);
  if (room < 5)
    return (head + numbers(state)).substr(0, width);
  const auto full = std::min(room * state.done / state.steps, room);
  return head + "[" + std::string(full, '#') + std::string(room - full, '.') + "]" + tail;
}

std::string progress_line(const ProgressState& state) {
  return fmt::format("{}/{} steps  {}", state.done, state.steps, numbers(state));
}

Progress::Progress(std::FILE* out, std::size_t steps, std::size_t before, std::string headline)
    : out_(out), steps_(steps), before_(before), headline_(std::move(headline)),
      terminal_(is_terminal(out)) {}

Progress::~Progress() {
  if (bar_shown_)
    std::fputs("\n", out_);
  std::fflush(out_);
}

void Progress::step_done(std::size_t step, double loss, std::int64_t tokens) {
  tokens_ += tokens;
  const auto now = Clock::now();
  const auto done = step + 1;
  auto state = ProgressState{done, steps_, loss, tokens_per_second(), std::nullopt, headline_};
  const auto spent = std::chrono::duration<double>{now - started_};
  // A run that went back to a checkpoint may be behind where it began.
  if (done > before_)
    state.left = std::chrono::duration_cast<std::chrono::seconds>(
        spent * (static_cast<double>(steps_ - done) / static_cast<double>(done - before_)));
  const auto last = done == steps_;
  if (terminal_) {
    if (!last && now - drawn_ < redraw_interval)
      return;
    drawn_ = now;
    bar_shown_ = true;
    // Back to the first column, then clear what an earlier, longer line left behind.
    fmt::print(out_, "\r{}\x1b[K", progress_bar(state, terminal_width(out_) - 1));
  } else if (last || step % std::max<std::size_t>(1, steps_ / plain_lines) == 0) {
    fmt::print(out_, "{}\n", progress_line(state));
  }
  std::fflush(out_);
}

double Progress::tokens_per_second() const {
  const auto spent = std::chrono::duration<double>{Clock::now() - started_}.count();
  return spent > 0.0 ? static_cast<double>(tokens_) / spent : 0.0;
}

std::size_t terminal_width(std::FILE* out) {
  auto size = winsize{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  return 80;
}

bool is_terminal(std::FILE* out) {
  return ::isatty(::fileno(out)) == 1;
}

} // namespace tinkaf::cli

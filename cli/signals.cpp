// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tinkaf::cli {

namespace {

/// Write end of the pipe of the one `StopSignals`; written by whichever thread a signal hits.
std::atomic<int> signal_pipe{-1};

void on_signal(int number) {
  const int saved = errno;
  const auto byte = static_cast<char>(number);
  [[maybe_unused]] const auto written = ::write(signal_pipe, &byte, 1);
  errno = saved;
}

void set_action(int number, void (*action)(int)) {
  struct sigaction wanted {};
  wanted.sa_handler = action;
  wanted.sa_flags = SA_RESTART;
  ::sigaction(number, &wanted, nullptr);
}

} // namespace

StopSignals::StopSignals(std::chrono::milliseconds patience) {
  auto ends = std::array<int, 2>{-1, -1};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::system_error{errno, std::generic_category(), "pipe"};
  signals_ = ends[0];
  signal_pipe = ends[1];
  end_ = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread{[this, patience] { watch(patience); }};
  set_action(SIGINT, on_signal);
  set_action(SIGTERM, on_signal);
  // A reader that goes away (`| head`) is an error of the write, not the end of the process.
  set_action(SIGPIPE, SIG_IGN);
}

StopSignals::~StopSignals() {
  set_action(SIGINT, SIG_DFL);
  set_action(SIGTERM, SIG_DFL);
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(end_, &one, sizeof one);
  thread_.join();
  ::close(signal_pipe.exchange(-1));
  ::close(signals_);
  ::close(end_);
}

void StopSignals::watch(std::chrono::milliseconds patience) {
  auto waiting = std::array<pollfd, 2>{pollfd{signals_, POLLIN, 0}, pollfd{end_, POLLIN, 0}};
  auto timeout = -1;
  while (true) {
    const auto ready = ::poll(waiting.data(), waiting.size(), timeout);
    if (ready < 0)
      continue;
    if ((waiting[1].revents & POLLIN) != 0)
      return;
    if (ready == 0)
      ::_exit(exit_code());
    char number = 0;
    if (::read(signals_, &number, 1) != 1)
      continue;
    if (received_ != 0)
      ::_exit(exit_code());
    received_ = number;
    stop_.request_stop();
    timeout = static_cast<int>(patience.count());
  }
}

} // namespace tinkaf::cli

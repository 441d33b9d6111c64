// SPDX-License-Identifier: Apache-2.0
#include "cli/signals.hpp"

#include <array>
#include <cstdint>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace tinkaf::cli {

StopSignals::StopSignals(std::chrono::milliseconds patience) {
  auto set = sigset_t{};
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  // A reader that goes away (`| head`) is an error of the write, not the end of the process.
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  end_ = ::eventfd(0, EFD_CLOEXEC);
  thread_ = std::thread{[this, patience] { watch(patience); }};
}

StopSignals::~StopSignals() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(end_, &one, sizeof one);
  thread_.join();
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
    auto info = signalfd_siginfo{};
    if (::read(signals_, &info, sizeof info) != sizeof info)
      continue;
    if (received_ != 0)
      ::_exit(exit_code());
    received_ = static_cast<int>(info.ssi_signo);
    stop_.request_stop();
    timeout = static_cast<int>(patience.count());
  }
}

} // namespace tinkaf::cli

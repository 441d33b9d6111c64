// SPDX-License-Identifier: Apache-2.0
#include "api/http/curl_events.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace tinkaf {

CurlEvents::CurlEvents(CURLM* multi)
    : multi_(multi), epoll_(epoll_create1(EPOLL_CLOEXEC)),
      waker_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = waker_;
  epoll_ctl(epoll_, EPOLL_CTL_ADD, waker_, &event);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &CurlEvents::on_socket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &CurlEvents::on_timer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
}

CurlEvents::~CurlEvents() {
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, nullptr);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, nullptr);
  if (waker_ >= 0)
    close(waker_);
  if (epoll_ >= 0)
    close(epoll_);
}

void CurlEvents::wait() {
  if (act_if_due())
    return; // which may have ended a transfer already
  std::array<epoll_event, 128> events{};
  auto count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), timeout_ms());
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    if (event.data.fd == waker_) {
      std::uint64_t times = 0;
      while (read(waker_, &times, sizeof times) > 0) {
      }
      woken_ = false;
      continue;
    }
    auto happened = ((event.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0)
                    | ((event.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0)
                    | ((event.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
    act(event.data.fd, happened);
  }
  act_if_due();
}

void CurlEvents::wake() noexcept {
  if (woken_.exchange(true))
    return;
  std::uint64_t once = 1;
  // Cannot fail: the counter stands at no more than 1.
  static_cast<void>(!write(waker_, &once, sizeof once));
}

void CurlEvents::act(curl_socket_t socket, int events) {
  int running = 0;
  curl_multi_socket_action(multi_, socket, events, &running);
}

bool CurlEvents::act_if_due() {
  if (!due_ || Clock::now() < *due_)
    return false;
  due_.reset();
  act(CURL_SOCKET_TIMEOUT, 0);
  return true;
}

int CurlEvents::timeout_ms() const {
  if (!due_)
    return -1;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(*due_ - Clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, std::numeric_limits<int>::max()));
}

int CurlEvents::on_socket(CURL*, curl_socket_t socket, int what, void* self, void* known) {
  auto& events = *static_cast<CurlEvents*>(self);
  if (what == CURL_POLL_REMOVE) {
    epoll_ctl(events.epoll_, EPOLL_CTL_DEL, socket, nullptr);
    curl_multi_assign(events.multi_, socket, nullptr);
    return 0;
  }
  epoll_event event{};
  event.data.fd = socket;
  event.events
      = ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0U) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0U);
  epoll_ctl(events.epoll_, known == nullptr ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, &event);
  curl_multi_assign(events.multi_, socket, self);
  return 0;
}

int CurlEvents::on_timer(CURLM*, long timeout_ms, void* self) {
  auto& events = *static_cast<CurlEvents*>(self);
  if (timeout_ms < 0)
    events.due_.reset();
  else
    events.due_ = Clock::now() + std::chrono::milliseconds{timeout_ms};
  return 0;
}

} // namespace tinkaf

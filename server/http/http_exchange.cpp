// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_exchange.hpp"

#include <atomic>

namespace tinkaf::server {

std::string_view header(const Headers& headers, std::string_view name) noexcept {
  for (const auto& [key, value] : headers)
    if (key == name)
      return value;
  return {};
}

HttpReply HttpReply::json(int status, std::string body) {
  return {.status = status, .body = std::make_shared<const std::string>(std::move(body))};
}

class Responder::State {
public:
  explicit State(Send send) : send_(std::move(send)) {}

  ~State() {
    send(HttpReply::json(500,
                         R"({"detail":"the server dropped this request","category":"server"})"));
  }

  void send(HttpReply reply) {
    if (!sent_.exchange(true))
      send_(std::move(reply));
  }

private:
  Send send_;
  std::atomic<bool> sent_ = false;
};

Responder::Responder(Send send) : state_(std::make_shared<State>(std::move(send))) {}

void Responder::send(HttpReply reply) const {
  if (state_)
    state_->send(std::move(reply));
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#include "test/server/http_client.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <stdexcept>
#include <utility>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace tinkaf::test {

HttpClient::HttpClient(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  const timeval limit{.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error{"cannot connect to the server under test"};
}

HttpClient::~HttpClient() {
  if (socket_ >= 0)
    ::close(socket_);
}

HttpClient::HttpClient(HttpClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), head_(other.head_),
      pending_(std::move(other.pending_)) {}

HttpClient& HttpClient::operator=(HttpClient&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(pending_, other.pending_);
  std::swap(head_, other.head_);
  return *this;
}

void HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return; // the server refuses to read; its answer tells why
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
}

void HttpClient::send(std::string_view method, std::string_view path, std::string_view body,
                      const std::map<std::string, std::string>& headers) {
  head_ = method == "HEAD";
  auto text = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n", method, path);
  for (const auto& [name, value] : headers)
    text += fmt::format("{}: {}\r\n", name, value);
  if (method != "GET")
    text += fmt::format("Content-Length: {}\r\n", body.size());
  send(text + "\r\n" + std::string{body});
}

bool HttpClient::receive_some() {
  std::array<char, 65536> buffer{};
  const auto count = ::recv(socket_, buffer.data(), buffer.size(), 0);
  if (count > 0)
    pending_.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::string HttpClient::receive_until(std::string_view mark) {
  auto at = pending_.find(mark);
  while (at == std::string::npos && receive_some())
    at = pending_.find(mark);
  return take(at == std::string::npos ? pending_.size() : at + mark.size());
}

/// Waits for so many bytes, or for as many as come.
std::string HttpClient::take(std::size_t size) {
  while (pending_.size() < size && receive_some()) {
  }
  auto out = pending_.substr(0, size);
  pending_.erase(0, out.size());
  return out;
}

std::string HttpClient::take_line() {
  auto line = receive_until("\r\n");
  line.resize(line.size() < 2 ? 0 : line.size() - 2);
  return line;
}

HttpAnswer HttpClient::receive() {
  auto end = pending_.find("\r\n\r\n");
  while (end == std::string::npos) {
    if (!receive_some())
      return {};
    end = pending_.find("\r\n\r\n");
  }
  HttpAnswer answer;
  answer.status = std::stoi(pending_.substr(9, 3));
  auto line = pending_.find("\r\n");
  while (line < end) {
    const auto next = pending_.find("\r\n", line + 2);
    const auto colon = pending_.find(": ", line);
    auto name = pending_.substr(line + 2, colon - line - 2);
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char x) { return static_cast<char>(std::tolower(x)); });
    answer.headers[name] = pending_.substr(colon + 2, next - colon - 2);
    line = next;
  }
  pending_.erase(0, end + 4);
  const auto found = answer.headers.find("content-length");
  if (head_)
    return answer;
  if (found != answer.headers.end()) {
    answer.body = take(std::stoul(found->second));
  } else if (answer.headers.contains("transfer-encoding")) {
    for (auto size = std::stoul(take_line(), nullptr, 16); size > 0;
         size = std::stoul(take_line(), nullptr, 16)) {
      answer.body += take(size);
      (void)take_line();
    }
    (void)take_line();
  } else if (answer.status >= 200 && answer.headers["connection"] == "close") {
    while (receive_some()) {
    }
    answer.body = std::exchange(pending_, {});
  }
  return answer;
}

bool HttpClient::is_closed() {
  while (receive_some()) {
  }
  std::array<char, 1> byte{};
  return ::recv(socket_, byte.data(), byte.size(), MSG_DONTWAIT) == 0;
}

} // namespace tinkaf::test

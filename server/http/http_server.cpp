// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_connection.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace tinkaf::server {

namespace asio = boost::asio;
using boost::system::error_code;
using tcp = asio::ip::tcp;

class HttpServer::Impl {
public:
  explicit Impl(HttpServerOptions options)
      : connections_(std::make_shared<HttpConnections>(std::move(options))),
        acceptor_(asio::make_strand(context_)), tick_timer_(acceptor_.get_executor()),
        accept_timer_(acceptor_.get_executor()) {}

  ~Impl() {
    stop(std::chrono::milliseconds{0});
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> listen() {
    const auto& options = connections_->options();
    error_code error;
    tcp::resolver resolver{context_};
    const auto found = resolver.resolve(options.host, std::to_string(options.port), error);
    if (error || found.empty())
      return fail(Errc::invalid_argument,
                  fmt::format("host: cannot resolve `{}`: {}", options.host, error.message()));
    if (auto bound = bind(found.begin()->endpoint()); bound)
      return fail(
          bound == asio::error::address_in_use ? Errc::conflict : Errc::invalid_argument,
          fmt::format("cannot listen on {}:{}: {}", options.host, options.port, bound.message()));
    accept();
    tick();
    for (std::size_t i = 0; i < std::max<std::size_t>(options.threads, 1); ++i)
      threads_.emplace_back([this] { context_.run(); });
    return {};
  }

  [[nodiscard]] std::uint16_t port() const noexcept {
    return port_;
  }

  void stop(std::chrono::milliseconds grace) {
    const std::lock_guard lock{stop_mutex_};
    if (threads_.empty())
      return;
    asio::post(acceptor_.get_executor(), [this] {
      error_code ignored;
      acceptor_.close(ignored);
      tick_timer_.cancel();
      accept_timer_.cancel();
    });
    connections_->wind_up();
    (void)connections_->wait_for_none(grace);
    connections_->close();
    guard_.reset();
    for (auto& thread : threads_)
      thread.join();
    threads_.clear();
  }

private:
  error_code bind(const tcp::endpoint& endpoint) {
    error_code error;
    acceptor_.open(endpoint.protocol(), error);
    if (!error)
      acceptor_.set_option(asio::socket_base::reuse_address{true}, error);
    if (!error)
      acceptor_.bind(endpoint, error);
    if (!error)
      acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (!error)
      port_ = acceptor_.local_endpoint(error).port();
    return error;
  }

  void accept() {
    acceptor_.async_accept(
        asio::make_strand(context_),
        asio::bind_executor(acceptor_.get_executor(), [this](error_code error, tcp::socket socket) {
          if (!acceptor_.is_open())
            return;
          if (error)
            return accept_later();
          error_code ignored;
          socket.set_option(tcp::no_delay{true}, ignored);
          auto connection = std::make_shared<HttpConnection>(std::move(socket), connections_);
          if (connections_->add(connection))
            connection->start();
          accept();
        }));
  }

  /// For example when there are no more file descriptors.
  void accept_later() {
    accept_timer_.expires_after(std::chrono::milliseconds{100});
    accept_timer_.async_wait([this](error_code error) {
      if (!error && acceptor_.is_open())
        accept();
    });
  }

  void tick() {
    tick_timer_.expires_after(connections_->options().tick_interval);
    tick_timer_.async_wait([this](error_code error) {
      if (error || !acceptor_.is_open())
        return;
      if (connections_->options().tick)
        connections_->options().tick();
      tick();
    });
  }

  asio::io_context context_;
  // A connection that waits for its answer is no work in the eyes of the context.
  asio::executor_work_guard<asio::io_context::executor_type> guard_{context_.get_executor()};
  std::shared_ptr<HttpConnections> connections_;
  tcp::acceptor acceptor_;
  asio::steady_timer tick_timer_;
  asio::steady_timer accept_timer_;
  std::uint16_t port_ = 0;
  std::mutex stop_mutex_;
  std::vector<std::thread> threads_;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(HttpServerOptions options) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (auto listening = impl->listen(); !listening)
    return fail(listening.error());
  return std::unique_ptr<HttpServer>{new HttpServer{std::move(impl)}};
}

HttpServer::~HttpServer() {
  stop();
}

std::uint16_t HttpServer::port() const noexcept {
  return impl_->port();
}

void HttpServer::stop(std::chrono::milliseconds grace) {
  impl_->stop(grace);
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/http/http_server.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>

#include <array>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <utility> // Boost 1.74 forgets it in C++20
#include <vector>

namespace tinkaf::server {

class HttpConnection;

/// What the connections of one server share. Thread-safe.
class HttpConnections {
public:
  explicit HttpConnections(HttpServerOptions options) : options_(std::move(options)) {}

  [[nodiscard]] const HttpServerOptions& options() const noexcept {
    return options_;
  }

  /// False if there is no room for one more.
  [[nodiscard]] bool add(std::shared_ptr<HttpConnection> connection);
  void remove(const std::shared_ptr<HttpConnection>& connection);

  /// Lets idle connections close, and the others behind their next answer.
  void wind_up();

  /// Waits until there is no connection any more; false if there still is one after `limit`.
  [[nodiscard]] bool wait_for_none(std::chrono::milliseconds limit);

  /// Closes all connections. Answers that come later go nowhere.
  void close();

  /// Sends an answer to a connection if that is still there.
  void deliver(const std::weak_ptr<HttpConnection>& connection, HttpReply reply);

  /// Lets a connection go on with the body that it sends, if it is still there.
  void wake(const std::weak_ptr<HttpConnection>& connection);

  [[nodiscard]] bool winding_up() const;

private:
  const HttpServerOptions options_;
  mutable std::mutex mutex_;
  std::condition_variable none_;
  std::set<std::shared_ptr<HttpConnection>> connections_;
  bool winding_up_ = false;
  bool closed_ = false;
};

/// One connection: reads a request, waits for its answer, writes it, and so on. Runs on the strand
/// of its socket; while it waits for an answer, only `HttpConnections` holds it.
class HttpConnection : public std::enable_shared_from_this<HttpConnection> {
public:
  HttpConnection(boost::asio::ip::tcp::socket socket, std::shared_ptr<HttpConnections> all);

  // From any thread.
  void start();
  void post_reply(HttpReply reply);
  void post_wake();
  void post_wind_up();
  void post_close();

private:
  using ErrorCode = boost::beast::error_code;
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Response = boost::beast::http::response<boost::beast::http::span_body<const char>>;
  using Serializer
      = boost::beast::http::response_serializer<boost::beast::http::span_body<const char>>;

  void read_header();
  void on_header(ErrorCode error);
  void invite_body();
  void read_body();
  void on_body();
  void on_broken(ErrorCode error);
  void refuse(HttpReply reply);
  void write(HttpReply reply);
  void write_some();
  void write_file();
  void write_head();
  void write_stream();
  void write_chunk(std::string piece, BodyStream::State state);
  void on_written();
  void linger();
  void close();

  boost::beast::tcp_stream stream_;
  std::shared_ptr<HttpConnections> all_;
  boost::beast::flat_buffer buffer_;
  std::optional<Parser> parser_;
  HttpCall call_;
  bool head_ = false;
  bool chunks_ = true; // HTTP/1.0 knows none
  bool idle_ = true;
  bool last_ = false;
  std::chrono::steady_clock::time_point begun_; // when the header was there
  bool unread_ = false; // a body that we do not want may still be on its way

  // The answer, until it is out.
  std::shared_ptr<const std::string> body_;
  FilePart file_; // the part that is still to be sent
  std::shared_ptr<BodyStream> body_stream_;
  std::string chunk_; // of it, on its way
  std::optional<Response> response_;
  std::optional<Serializer> serializer_;

  std::vector<char> piece_; // of the file
  std::array<char, 4096> scratch_{};
  std::size_t discarded_ = 0;
};

} // namespace tinkaf::server

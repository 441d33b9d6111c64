// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_connection.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace tinkaf::server {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;

namespace {

/// How much of a refused body is read and dropped, so that the client gets to see the refusal and
/// not a broken connection.
constexpr std::size_t most_discarded = std::size_t{256} << 20;

/// How much of a file is held in memory on its way out.
constexpr std::size_t file_piece = std::size_t{64} << 10;

std::string lower(beast::string_view text) {
  std::string out{text.data(), text.size()};
  std::transform(out.begin(), out.end(), out.begin(), [](char x) {
    return x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x;
  });
  return out;
}

HttpReply refusal(int status, std::string_view detail) {
  return HttpReply::json(status, fmt::format(R"({{"detail":"{}","category":"user"}})", detail));
}

} // namespace

bool HttpConnections::add(std::shared_ptr<HttpConnection> connection) {
  const std::lock_guard lock{mutex_};
  if (connections_.size() >= options_.max_connections)
    return false;
  if (!winding_up_)
    connections_.insert(std::move(connection));
  return true;
}

void HttpConnections::remove(const std::shared_ptr<HttpConnection>& connection) {
  const std::lock_guard lock{mutex_};
  connections_.erase(connection);
  if (connections_.empty())
    none_.notify_all();
}

void HttpConnections::wind_up() {
  const std::lock_guard lock{mutex_};
  winding_up_ = true;
  for (const auto& connection : connections_)
    connection->post_wind_up();
}

bool HttpConnections::wait_for_none(std::chrono::milliseconds limit) {
  std::unique_lock lock{mutex_};
  return none_.wait_for(lock, limit, [this] { return connections_.empty(); });
}

void HttpConnections::close() {
  std::set<std::shared_ptr<HttpConnection>> all;
  const std::lock_guard lock{mutex_};
  closed_ = true;
  all.swap(connections_);
  for (const auto& connection : all)
    connection->post_close();
}

void HttpConnections::deliver(const std::weak_ptr<HttpConnection>& connection, HttpReply reply) {
  const std::lock_guard lock{mutex_};
  if (closed_)
    return;
  if (const auto target = connection.lock())
    target->post_reply(std::move(reply));
}

void HttpConnections::wake(const std::weak_ptr<HttpConnection>& connection) {
  const std::lock_guard lock{mutex_};
  if (closed_)
    return;
  if (const auto target = connection.lock())
    target->post_wake();
}

bool HttpConnections::winding_up() const {
  const std::lock_guard lock{mutex_};
  return winding_up_;
}

HttpConnection::HttpConnection(asio::ip::tcp::socket socket, std::shared_ptr<HttpConnections> all)
    : stream_(std::move(socket)), all_(std::move(all)) {}

void HttpConnection::start() {
  asio::dispatch(stream_.get_executor(), [self = shared_from_this()] { self->read_header(); });
}

void HttpConnection::post_reply(HttpReply reply) {
  asio::post(stream_.get_executor(),
             [self = shared_from_this(), reply = std::move(reply)]() mutable {
               self->write(std::move(reply));
             });
}

void HttpConnection::post_wake() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->write_stream(); });
}

void HttpConnection::post_wind_up() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    self->last_ = true;
    if (self->idle_)
      self->close();
  });
}

void HttpConnection::post_close() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->close(); });
}

void HttpConnection::read_header() {
  if (all_->winding_up())
    return close();
  idle_ = true;
  parser_.emplace();
  parser_->body_limit(all_->options().max_body);
  parser_->header_limit(static_cast<std::uint32_t>(all_->options().max_header));
  stream_.expires_after(all_->options().keep_alive);
  http::async_read_header(
      stream_, buffer_, *parser_,
      [self = shared_from_this()](ErrorCode error, std::size_t) { self->on_header(error); });
}

void HttpConnection::on_header(ErrorCode error) {
  if (error)
    return on_broken(error);
  idle_ = false;
  begun_ = std::chrono::steady_clock::now();
  const auto& request = parser_->get();
  const std::string target{request.target().data(), request.target().size()};
  const auto mark = target.find('?');
  call_ = {};
  call_.method.assign(request.method_string().data(), request.method_string().size());
  head_ = call_.method == "HEAD";
  call_.path = target.substr(0, mark);
  if (mark != std::string::npos)
    call_.query = target.substr(mark + 1);
  for (const auto& field : request)
    call_.headers.emplace_back(lower(field.name_string()),
                               std::string{field.value().data(), field.value().size()});
  last_ = last_ || !parser_->keep_alive();
  chunks_ = request.version() >= 11;
  if (all_->options().refuse)
    if (auto reply = all_->options().refuse(call_))
      return refuse(std::move(*reply));
  if (parser_->is_done())
    return on_body();
  invite_body();
}

void HttpConnection::invite_body() {
  if (!beast::iequals(parser_->get()[http::field::expect], "100-continue"))
    return read_body();
  static constexpr std::string_view invitation = "HTTP/1.1 100 Continue\r\n\r\n";
  stream_.expires_after(all_->options().stall);
  asio::async_write(stream_, asio::buffer(invitation),
                    [self = shared_from_this()](ErrorCode error, std::size_t) {
                      if (error)
                        self->close();
                      else
                        self->read_body();
                    });
}

void HttpConnection::read_body() {
  parser_->eager(true);
  const auto now = std::chrono::steady_clock::now();
  const std::chrono::seconds earned{parser_->get().body().size() >> 20};
  stream_.expires_at(
      std::min(now + all_->options().stall, begun_ + all_->options().slow_request + earned));
  http::async_read_some(stream_, buffer_, *parser_,
                        [self = shared_from_this()](ErrorCode error, std::size_t) {
                          if (error && error != http::error::need_buffer)
                            self->on_broken(error);
                          else if (self->parser_->is_done())
                            self->on_body();
                          else
                            self->read_body();
                        });
}

void HttpConnection::on_body() {
  stream_.expires_never();
  call_.body = std::move(parser_->get().body());
  auto responder = Responder{[all = all_, self = weak_from_this()](HttpReply reply) {
    all->deliver(self, std::move(reply));
  }};
  all_->options().handle(std::move(call_), std::move(responder));
}

void HttpConnection::on_broken(ErrorCode error) {
  if (error == http::error::body_limit)
    return refuse(refusal(413, fmt::format("the body is larger than {} bytes, which is the most "
                                           "that this server takes",
                                           all_->options().max_body)));
  if (error == http::error::header_limit || error == http::error::buffer_overflow)
    return refuse(refusal(431, fmt::format("request line and headers are larger than {} bytes, "
                                           "which is the most that this server takes",
                                           all_->options().max_header)));
  const ErrorCode of_parsing = http::error::bad_method;
  if (error.category() == of_parsing.category() && error != http::error::end_of_stream
      && error != http::error::partial_message)
    return refuse(refusal(400, fmt::format("this is not an HTTP request: {}", error.message())));
  close();
}

void HttpConnection::refuse(HttpReply reply) {
  idle_ = false;
  last_ = true;
  unread_ = true;
  write(std::move(reply));
}

void HttpConnection::write(HttpReply reply) {
  if (reply.dropped)
    return close();
  body_ = std::move(reply.body);
  file_ = std::move(reply.file).value_or(FilePart{});
  body_stream_ = std::move(reply.stream);
  const auto size = file_.file ? file_.size : body_ ? body_->size() : 0;
  auto& response = response_.emplace();
  response.version(11);
  response.result(static_cast<unsigned>(reply.status));
  if (size > 0 || body_stream_)
    response.set(http::field::content_type, reply.content_type);
  for (const auto& [name, value] : reply.headers)
    response.set(name, value);
  last_ = last_ || (body_stream_ && !chunks_); // the end of the connection is that of the body
  response.keep_alive(!last_);
  if (body_stream_)
    response.chunked(chunks_);
  else if (reply.status != 204)
    response.content_length(size);
  if (head_)
    file_ = {};
  else if (body_ && !file_.file)
    response.body() = {body_->data(), body_->size()};
  serializer_.emplace(response);
  if (body_stream_)
    write_head();
  else
    write_some();
}

void HttpConnection::write_some() {
  stream_.expires_after(all_->options().stall);
  http::async_write_some(stream_, *serializer_,
                         [self = shared_from_this()](ErrorCode error, std::size_t) {
                           if (error && error != http::error::end_of_stream)
                             self->close();
                           else if (self->serializer_->is_done())
                             self->write_file();
                           else
                             self->write_some();
                         });
}

void HttpConnection::write_file() {
  if (file_.size == 0)
    return on_written();
  piece_.resize(std::min<std::uint64_t>(file_.size, file_piece));
  const auto count = file_.file->read(file_.offset, piece_);
  if (count == 0)
    return close(); // the client sees that the answer is too short
  file_.offset += count;
  file_.size -= count;
  stream_.expires_after(all_->options().stall);
  asio::async_write(stream_, asio::buffer(piece_.data(), count),
                    [self = shared_from_this()](ErrorCode error, std::size_t) {
                      if (error)
                        self->close();
                      else
                        self->write_file();
                    });
}

void HttpConnection::write_head() {
  stream_.expires_after(all_->options().stall);
  http::async_write_header(stream_, *serializer_,
                           [self = shared_from_this()](ErrorCode error, std::size_t) {
                             if (error)
                               self->close();
                             else
                               self->write_stream();
                           });
}

void HttpConnection::write_stream() {
  if (!body_stream_)
    return; // closed meanwhile
  stream_.expires_never();
  auto [piece, state]
      = body_stream_->take([all = all_, self = weak_from_this()] { all->wake(self); });
  if (!piece.empty() || state == BodyStream::State::ended)
    write_chunk(std::move(piece), state);
  else if (state == BodyStream::State::broken)
    close();
}

void HttpConnection::write_chunk(std::string piece, BodyStream::State state) {
  const bool whole = state == BodyStream::State::ended;
  chunk_ = std::move(piece);
  if (chunks_ && !chunk_.empty())
    chunk_ = fmt::format("{:x}\r\n{}\r\n", chunk_.size(), chunk_);
  if (chunks_ && whole)
    chunk_ += "0\r\n\r\n";
  stream_.expires_after(all_->options().stall);
  asio::async_write(stream_, asio::buffer(chunk_),
                    [self = shared_from_this(), whole](ErrorCode error, std::size_t) {
                      if (error)
                        self->close();
                      else if (whole)
                        self->on_written();
                      else
                        self->write_stream();
                    });
}

void HttpConnection::on_written() {
  file_ = {};
  body_stream_.reset();
  serializer_.reset();
  response_.reset();
  body_.reset();
  if (!last_)
    return read_header();
  if (!unread_)
    return close();
  ErrorCode ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  linger();
}

void HttpConnection::linger() {
  stream_.expires_after(
      std::min<std::chrono::milliseconds>(all_->options().stall, std::chrono::seconds{2}));
  stream_.async_read_some(asio::buffer(scratch_),
                          [self = shared_from_this()](ErrorCode error, std::size_t size) {
                            self->discarded_ += size;
                            if (error || self->discarded_ > most_discarded)
                              self->close();
                            else
                              self->linger();
                          });
}

void HttpConnection::close() {
  body_stream_.reset();
  ErrorCode ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.close();
  all_->remove(shared_from_this());
}

} // namespace tinkaf::server

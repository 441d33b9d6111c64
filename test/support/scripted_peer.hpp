// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace tinkaf::test {

using PeerHeaders = std::vector<std::pair<std::string, std::string>>;

/// One request as it came in.
struct PeerRequest {
  std::string method;
  std::string target;

  /// Names in lower case.
  PeerHeaders headers;

  std::string body;

  /// Counts the connections of the peer, from 0.
  std::size_t connection = 0;

  /// The first header of that (lower-case) name, or nullptr.
  [[nodiscard]] const std::string* header(std::string_view name) const;
};

/// What the peer does with a request.
struct PeerReply {
  enum class Kind : std::uint8_t {
    /// An answer as HTTP wants it.
    normal,
    /// `body` as it is, be it HTTP or not; then the connection is closed.
    raw,
    /// Headers that promise the whole body, half of it, and the end of the connection.
    truncated,
    /// Not a byte; the connection is closed.
    close,
    /// Nothing until `ScriptedPeer::release`; then the answer.
    stall,
    /// Headers that promise the whole body, half of it, and no more until `ScriptedPeer::release`
    /// or
    /// until the other side hangs up; then the end of the connection.
    stall_halfway,
  };

  int status = 200;
  std::string body = "{}";
  PeerHeaders headers = {{"Content-Type", "application/json"}};
  Kind kind = Kind::normal;

  /// Close the connection behind the answer, without having said so.
  bool then_close = false;

  [[nodiscard]] static PeerReply raw(std::string bytes) {
    return {.body = std::move(bytes), .kind = Kind::raw};
  }
};

/// An HTTP/1.1 server that plays a script: the n-th request, on whichever connection, gets the n-th
/// reply, and those beyond the script get 404.
///
/// Listens on a free port of the loopback interface. Blocking sockets, one thread per connection;
/// thread-safe. The destructor closes all connections and waits for its threads.
class ScriptedPeer {
public:
  explicit ScriptedPeer(std::vector<PeerReply> script);
  ~ScriptedPeer();
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept {
    return port_;
  }

  /// "http://127.0.0.1:<port>"
  [[nodiscard]] std::string url() const;

  /// Adds to the script.
  void add(PeerReply reply);

  /// Lets all stalled replies go on, those to come too.
  void release();

  /// Waits until `count` requests have come in, and returns all that have; fewer after 10 s.
  [[nodiscard]] std::vector<PeerRequest> wait_for_requests(std::size_t count);

  /// All requests so far.
  [[nodiscard]] std::vector<PeerRequest> requests() const;

  /// Waits until `count` connections have been closed by the other side; false after 10 s.
  [[nodiscard]] bool wait_for_hang_ups(std::size_t count);

  /// Connections that were ever opened.
  [[nodiscard]] std::size_t connections() const;

private:
  void accept_all();
  void serve(int socket, std::size_t connection);
  [[nodiscard]] PeerReply note(PeerRequest request);
  void wait_for_release(int socket);

  std::uint16_t port_ = 0;
  int listener_ = -1;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PeerReply> script_;
  std::vector<PeerRequest> requests_;
  std::vector<int> sockets_;
  std::vector<std::thread> threads_;
  std::size_t hang_ups_ = 0;
  bool released_ = false;
  bool stopping_ = false;

  std::thread acceptor_;
};

/// A port of the loopback interface on which nobody listens.
[[nodiscard]] std::uint16_t closed_port();

} // namespace tinkaf::test

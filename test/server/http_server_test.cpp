// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_server.hpp"

#include "server/server_options.hpp"
#include "test/catch.hpp"
#include "test/server/http_client.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <mutex>
#include <thread>

#include <sys/resource.h>

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::server;
using test::HttpClient;

namespace {

/// Echoes `POST /echo`, refuses `/no` before its body, drops `/drop`, and keeps `/wait`.
struct Fixture {
  Fixture() {
    options.max_body = 1'000'000;
    options.max_header = 4'000;
    options.refuse = [](const HttpCall& call) -> std::optional<HttpReply> {
      if (call.path == "/no")
        return HttpReply::json(401, "no");
      return std::nullopt;
    };
    options.handle = [this](HttpCall call, Responder responder) {
      if (call.path == "/drop")
        return;
      if (call.path == "/wait") {
        const std::lock_guard lock{mutex};
        waiting.push_back(std::move(responder));
        changed.notify_all();
        return;
      }
      responder.send(HttpReply::json(200, call.method + call.query + call.body));
    };
  }
  ~Fixture() {
    if (server)
      server->stop(0ms);
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  HttpClient connect() {
    if (!server)
      server = HttpServer::start(options).value();
    return HttpClient{server->port()};
  }

  void wait_for_waiting(std::size_t count) {
    std::unique_lock lock{mutex};
    changed.wait(lock, [&] { return waiting.size() >= count; });
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Responder> waiting;
  HttpServerOptions options;
  std::unique_ptr<HttpServer> server;
};

std::size_t threads_of_this_process() {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Iterator{"/proc/self/task"}, Iterator{}));
}

/// How many connections the system lets wait, for a server of this process to take them.
std::size_t longest_line() {
  std::size_t queue = 128;
  std::ifstream{"/proc/sys/net/core/somaxconn"} >> queue;
  rlimit files{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  return std::min<std::size_t>(queue, (files.rlim_cur - 100) / 2); // both ends are here
}

} // namespace

TEST_CASE_METHOD(Fixture, "A connection serves one request after the other", "[server][http]") {
  auto client = connect();
  CHECK(client.call("GET", "/echo?a=1").body == "GETa=1");
  const std::string large(900'000, 'x');
  CHECK(client.call("POST", "/echo", large).body == "POST" + large);
  client.send("GET", "/echo", "");
  client.send("GET", "/echo?2", ""); // before the first is answered
  CHECK(client.receive().body == "GET");
  CHECK(client.receive().body == "GET2");
}

TEST_CASE_METHOD(Fixture, "A client may ask for the end of the connection", "[server][http]") {
  auto client = connect();
  const auto answer = client.call("GET", "/echo", {}, {{"Connection", "close"}});
  CHECK(answer.body == "GET");
  CHECK(answer.headers.at("connection") == "close");
  CHECK(client.is_closed());
}

TEST_CASE_METHOD(Fixture, "A body in chunks is read; one that is announced is invited",
                 "[server][http]") {
  auto client = connect();
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
              "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
  CHECK(client.receive().body == "POSTabcde");
  client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n"
              "Expect: 100-continue\r\n\r\n");
  CHECK(client.receive().status == 100);
  client.send("ok");
  CHECK(client.receive().body == "POSTok");
}

TEST_CASE_METHOD(Fixture, "A refusal comes before the body and ends the connection",
                 "[server][http]") {
  auto client = connect();
  client.send("POST /no HTTP/1.1\r\nHost: x\r\nContent-Length: 500000\r\n\r\n");
  CHECK(client.receive().status == 401);
  client.send(std::string(500'000, 'x')); // may arrive or not, harms nobody
  CHECK(connect().call("GET", "/echo").status == 200);
}

TEST_CASE_METHOD(Fixture, "What is too large is refused, however it is told", "[server][http]") {
  auto told = connect();
  told.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000001\r\n\r\n");
  const auto answer = told.receive();
  CHECK(answer.status == 413);
  CHECK(answer.body.find("1000000 bytes") != std::string::npos);

  auto untold = connect();
  untold.send("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nf4241\r\n"
              + std::string(1'000'001, 'x'));
  CHECK(untold.receive().status == 413);

  auto header = connect();
  header.send("GET /echo HTTP/1.1\r\nX: " + std::string(5'000, 'x') + "\r\n\r\n");
  CHECK(header.receive().status == 431);
}

TEST_CASE_METHOD(Fixture, "What is no HTTP is refused, and others do not suffer",
                 "[server][http]") {
  for (const std::string bytes :
       {"\x16\x03\x01\x02\x01garbage\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n",
        "POST /echo HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        "POST /echo HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n",
        "POST /echo HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    auto client = connect();
    client.send(bytes);
    INFO(bytes);
    CHECK(client.receive().status == 400);
    CHECK(client.is_closed());
  }
  CHECK(connect().call("GET", "/echo").status == 200);
}

TEST_CASE_METHOD(Fixture, "A request that stops half-way is given up", "[server][http]") {
  options.stall = 20ms;
  options.keep_alive = 20ms;
  auto body = connect();
  body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  CHECK(body.is_closed());
  auto header = connect();
  header.send("GET /ech");
  CHECK(header.is_closed());
  CHECK(connect().is_closed());
}

TEST_CASE_METHOD(Fixture, "A body that trickles in is given up, however steadily",
                 "[server][http]") {
  options.slow_request = 20ms;
  auto slow = connect();
  slow.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n");
  std::atomic<bool> over = false;
  std::thread trickle{[&] {
    while (!over)
      slow.send("a");
  }};
  CHECK(slow.is_closed());
  over = true;
  trickle.join();
}

TEST_CASE_METHOD(Fixture, "Half-open and slow clients leave room for others, up to a limit",
                 "[server][http]") {
  options.max_connections = 50;
  std::deque<HttpClient> slow;
  for (int i = 0; i < 49; ++i) {
    slow.push_back(connect());
    if (i % 2 == 0)
      slow.back().send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc");
  }
  auto other = connect();
  CHECK(other.call("GET", "/echo").status == 200);
  CHECK(connect().is_closed()); // one too many
  slow.pop_front();
  CHECK(other.call("POST", "/echo", "abc").body == "POSTabc");
}

TEST_CASE_METHOD(Fixture, "Thousands that connect at once wait in line, and none is refused",
                 "[server][http]") {
  options.threads = 1;
  std::promise<void> begun;
  std::promise<void> goes_on;
  const auto handle = options.handle;
  options.handle = [&](HttpCall call, Responder responder) {
    if (call.path == "/block") {
      begun.set_value();
      goes_on.get_future().wait();
    }
    handle(std::move(call), std::move(responder));
  };
  auto first = connect();
  first.send("GET", "/block", "");
  begun.get_future().wait(); // from here on nobody accepts
  const auto line = std::min<std::size_t>(2'000, longest_line());
  std::deque<HttpClient> clients;
  for (std::size_t i = 0; i < line; ++i) {
    clients.push_back(connect());
    clients.back().send("GET", "/echo", "");
  }
  goes_on.set_value();
  CHECK(first.receive().body == "GET");
  for (auto& client : clients)
    CHECK(client.receive().body == "GET");
  for (auto& client : clients) // idle ones that wake up together
    client.send("GET", "/echo?again", "");
  for (auto& client : clients)
    CHECK(client.receive().body == "GETagain");
}

TEST_CASE("Connections are kept for longer than those of clients and front ends",
          "[server][http]") {
  CHECK(HttpServerOptions{}.keep_alive >= 75s);
  CHECK(ServerLimits{}.keep_alive >= 75s);
}

TEST_CASE_METHOD(Fixture, "A request that nobody answers is told so", "[server][http]") {
  auto client = connect();
  const auto answer = client.call("GET", "/drop");
  CHECK(answer.status == 500);
  CHECK(answer.body.find("dropped") != std::string::npos);
  CHECK(client.call("GET", "/echo").status == 200);
}

TEST_CASE_METHOD(Fixture, "Waiting requests cost no thread", "[server][http]") {
  std::deque<HttpClient> clients;
  clients.push_back(connect());
  const auto before = threads_of_this_process();
  for (int i = 0; i < 200; ++i) {
    clients.push_back(connect());
    clients.back().send("GET", "/wait", "");
  }
  wait_for_waiting(200);
  CHECK(threads_of_this_process() == before);
  CHECK(clients.front().call("GET", "/echo").status == 200);
  for (auto& responder : waiting) {
    responder.send(HttpReply::json(200, "late"));
    responder.send(HttpReply::json(500, "twice"));
  }
  clients.pop_front();
  for (auto& client : clients)
    CHECK(client.receive().body == "late");
}

TEST_CASE_METHOD(Fixture, "A stop lets answers under way out and closes the rest",
                 "[server][http]") {
  auto idle = connect();
  auto answered = connect();
  auto unanswered = connect();
  answered.send("GET", "/wait", "");
  wait_for_waiting(1);
  unanswered.send("GET", "/wait", "");
  wait_for_waiting(2);
  waiting[0].send(HttpReply::json(200, "in time"));
  server->stop(20ms);
  CHECK(answered.receive().body == "in time");
  CHECK(unanswered.receive().status == 0);
  CHECK(idle.is_closed());
  waiting[1].send(HttpReply::json(200, "too late"));
  server->stop();
}

TEST_CASE_METHOD(Fixture, "A body is sent while it comes into being", "[server][http]") {
  auto client = connect();
  client.send("GET", "/wait", "");
  wait_for_waiting(1);
  const auto body = std::make_shared<BodyStream>();
  waiting[0].send({.content_type = "text/plain", .headers = {}, .body = {}, .stream = body});
  const auto head = client.receive_until("\r\n\r\n");
  CHECK(head.starts_with("HTTP/1.1 200 OK\r\n"));
  CHECK(head.find("Content-Type: text/plain\r\n") != std::string::npos);
  CHECK(head.find("Transfer-Encoding: chunked\r\n") != std::string::npos);
  CHECK(head.find("Content-Length") == std::string::npos);
  body->write("first");
  CHECK(client.receive_until("first\r\n") == "5\r\nfirst\r\n");
  body->write(std::string(20, 'x'));
  CHECK(client.receive_until("x\r\n") == "14\r\n" + std::string(20, 'x') + "\r\n");
  body->end();
  body->write("too late");
  CHECK(client.receive_until("\r\n\r\n") == "0\r\n\r\n");
  CHECK(client.call("GET", "/echo").body == "GET"); // the connection goes on
}

TEST_CASE_METHOD(Fixture, "A body that is broken off breaks the connection", "[server][http]") {
  auto client = connect();
  client.send("GET", "/wait", "");
  wait_for_waiting(1);
  const auto body = std::make_shared<BodyStream>();
  body->write("half");
  body->break_off();
  waiting[0].send({.headers = {}, .body = {}, .stream = body});
  CHECK(client.receive_until("half\r\n").ends_with("4\r\nhalf\r\n"));
  CHECK(client.receive_until("\r\n").empty());
  CHECK(client.is_closed());
}

TEST_CASE_METHOD(Fixture, "A client of HTTP/1.0 gets a body without chunks", "[server][http]") {
  auto client = connect();
  client.send("GET /wait HTTP/1.0\r\n\r\n");
  wait_for_waiting(1);
  const auto body = std::make_shared<BodyStream>();
  waiting[0].send({.headers = {}, .body = {}, .stream = body});
  body->write("all ");
  body->write("of it");
  body->end();
  const auto answer = client.receive();
  CHECK(answer.body == "all of it");
  CHECK_FALSE(answer.headers.contains("transfer-encoding"));
  CHECK(client.is_closed());
}

TEST_CASE_METHOD(Fixture, "A stop ends a body that is under way", "[server][http]") {
  auto client = connect();
  client.send("GET", "/wait", "");
  wait_for_waiting(1);
  const auto body = std::make_shared<BodyStream>();
  waiting[0].send({.headers = {}, .body = {}, .stream = body});
  body->write("a");
  CHECK(client.receive_until("a\r\n").ends_with("1\r\na\r\n"));
  server->stop(0ms);
  server.reset();
  body->write("far too late");
  CHECK(client.is_closed());
}

TEST_CASE_METHOD(Fixture, "Responders may outlive the server", "[server][http]") {
  auto client = connect();
  client.send("GET", "/wait", "");
  wait_for_waiting(1);
  server->stop(0ms);
  server.reset();
  waiting.front().send(HttpReply::json(200, "far too late"));
  CHECK(client.is_closed());
}

TEST_CASE_METHOD(Fixture, "The tick goes on, one at a time", "[server][http]") {
  std::atomic<int> ticks = 0;
  std::promise<void> third;
  options.tick_interval = 1ms;
  options.tick = [&] {
    if (++ticks == 3)
      third.set_value();
  };
  (void)connect();
  third.get_future().wait();
  server->stop(0ms);
}

TEST_CASE_METHOD(Fixture, "An address that cannot be listened on is told", "[server][http]") {
  (void)connect();
  options.port = server->port();
  const auto taken = HttpServer::start(options);
  REQUIRE_FALSE(taken.has_value());
  CHECK(taken.error().code == Errc::conflict);
  CHECK(taken.error().message.find(std::to_string(options.port)) != std::string::npos);
  options.port = 0;
  for (const auto* host : {"192.0.2.1", "no-such-host.invalid"}) {
    options.host = host;
    const auto nowhere = HttpServer::start(options);
    REQUIRE_FALSE(nowhere.has_value());
    CHECK(nowhere.error().code == Errc::invalid_argument);
    CHECK(nowhere.error().message.find(host) != std::string::npos);
  }
}

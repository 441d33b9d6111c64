// SPDX-License-Identifier: Apache-2.0
#include "test/api/http_fixture.hpp"

#include <cstdlib>

using namespace tinkaf;

namespace {

/// Sets the proxy of the environment for one test.
class ProxyVariable {
public:
  explicit ProxyVariable(const std::string& url) {
    ::setenv("http_proxy", url.c_str(), 1);
  }
  ~ProxyVariable() {
    ::unsetenv("http_proxy");
  }
  ProxyVariable(const ProxyVariable&) = delete;
  ProxyVariable& operator=(const ProxyVariable&) = delete;
};

} // namespace

TEST_CASE("A proxy gets the requests, with its password and the whole address",
          "[api][http][proxy]") {
  test::ScriptedPeer proxy{{{.body = R"({"via":"proxy"})"}}};
  auto client = test::make_client(
      "http://tinker.invalid/base",
      {.proxy = Secret{"http://me:hush@127.0.0.1:" + std::to_string(proxy.port())}});
  CHECK(test::Reply{*client, test::post("/api/v1/x")}.response().body == R"({"via":"proxy"})");
  auto requests = proxy.wait_for_requests(1);
  REQUIRE(requests.size() == 1);
  CHECK(requests[0].target == "http://tinker.invalid/base/api/v1/x");
  REQUIRE(requests[0].header("proxy-authorization") != nullptr);
  CHECK(*requests[0].header("proxy-authorization") == "Basic bWU6aHVzaA=="); // me:hush
}

TEST_CASE("A proxy that is not there is an error without its password", "[api][http][proxy]") {
  auto client = test::make_client(
      "http://tinker.invalid",
      {.proxy = Secret{"http://me:hush@127.0.0.1:" + std::to_string(test::closed_port())}});
  auto error = test::Reply{*client, test::post("/x")}.error();
  CHECK(error.code == Errc::connection);
  CHECK(error.message.find("hush") == std::string::npos);
}

TEST_CASE("The environment's proxy is used unless the options say otherwise",
          "[api][http][proxy]") {
  test::ScriptedPeer proxy{{{.body = "1"}}};
  test::ScriptedPeer peer{{{.body = "2"}}};
  ProxyVariable variable{proxy.url()};
  auto by_default = test::make_client("http://tinker.invalid");
  CHECK(test::Reply{*by_default, test::post("/x")}.response().body == "1");
  auto direct = test::make_client(peer.url(), {.proxy = Secret{}});
  CHECK(test::Reply{*direct, test::post("/x")}.response().body == "2");
}

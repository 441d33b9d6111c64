// SPDX-License-Identifier: Apache-2.0
#include "actors/http_actor.hpp"
#include "api/endpoint.hpp"
#include "api/headers.hpp"
#include "test/actors/actor_fixture.hpp"
#include "test/actors/scripted_transport.hpp"

#include <deque>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

/// A token that ends at `exp`, by its own word: {"exp":…} in base64url.
std::string token(std::int64_t exp, const std::string& mark) {
  constexpr std::string_view alphabet
      = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  auto json = R"({"exp":)" + std::to_string(exp) + "}";
  std::string text;
  std::uint32_t bits = 0;
  int count = 0;
  for (unsigned char c : json) {
    bits = (bits << 8U) | c;
    for (count += 8; count >= 6; count -= 6)
      text += alphabet[(bits >> static_cast<unsigned>(count - 6)) & 63U];
  }
  if (count > 0)
    text += alphabet[(bits << static_cast<unsigned>(6 - count)) & 63U];
  return "eyJ." + text + "." + mark;
}

class Fixture : public test::ActorFixture {
public:
  /// Starts an HTTP actor whose wall clock is that of the test, from 0.
  void start(Secret key, bool with_command = false) {
    began_ = now();
    auto settings = HttpActorSettings{
        .credential = std::move(key),
        .notices = [this](const Notice& x) { notices.push_back(x); },
        .wall_clock =
            [this] {
              return std::chrono::system_clock::time_point{
                  std::chrono::duration_cast<std::chrono::system_clock::duration>(now() - began_)};
            }};
    if (with_command)
      settings.command
          = [this](CredentialCallback callback) { commands.push_back(std::move(callback)); };
    http = spawn(http_actor, transport, settings);
  }

  test::Answer<HttpResponse> call(Endpoint endpoint = Endpoint::optim_step) {
    auto answer = ask<HttpResponse>(
        http, HttpCall{"call", make_request(endpoint, "{}", make_idempotency_key()),
                       RetryPolicy{.first_delay = 500ms, .jitter = 0.0, .budget = 60s}});
    run();
    return answer;
  }

  test::Answer<bool> exchange(bool enforced = false) {
    auto answer = ask<bool>(http, atom::exchange_v, enforced);
    run();
    return answer;
  }

  void answer_exchange(Result<HttpResponse> response) {
    REQUIRE(transport->answer(path(Endpoint::auth_token), std::move(response)));
    run();
  }

  void give_token(std::int64_t exp, const std::string& mark) {
    answer_exchange(test::json(200, R"({"jwt":")" + token(exp, mark) + "\"}"));
  }

  void end_command(Result<Secret> output) {
    REQUIRE_FALSE(commands.empty());
    auto callback = std::move(commands.front());
    commands.pop_front();
    callback(std::move(output));
    run();
  }

  [[nodiscard]] std::vector<std::string> keys(Endpoint endpoint = Endpoint::optim_step) const {
    std::vector<std::string> result;
    for (const auto& sent : transport->sent)
      if (sent.request.path == path(endpoint))
        result.push_back(test::header(sent.request.secret_headers, "X-API-Key"));
    return result;
  }

  std::vector<Notice> notices;
  std::deque<CredentialCallback> commands;
  std::shared_ptr<test::ScriptedTransport> transport = std::make_shared<test::ScriptedTransport>();
  HttpActor http;

private:
  std::chrono::steady_clock::time_point began_;
};

using Keys = std::vector<std::string>;

} // namespace

TEST_CASE_METHOD(Fixture, "A token is renewed in the background five minutes before its end",
                 "[actors][credentials]") {
  start("tml-key");
  auto exchanged = exchange();
  give_token(3600, "one");
  CHECK((*exchanged)->has_value());
  pass(3'299s);
  CHECK(keys(Endpoint::auth_token).size() == 1);
  pass(1s);
  REQUIRE(keys(Endpoint::auth_token) == Keys{"tml-key", "tml-key"});
  call(); // does not wait for it
  give_token(7200, "two");
  call();
  CHECK(keys() == Keys{token(3600, "one"), token(7200, "two")});
}

TEST_CASE_METHOD(Fixture, "Calls that find their token about to end share one exchange",
                 "[actors][credentials]") {
  start("tml-key");
  exchange();
  give_token(100, "one");
  pass(9s); // the background renewal is due after ten
  call();
  CHECK(keys() == Keys{token(100, "one")});
  pass(1s);
  answer_exchange(test::json(500, "{}"));
  pass(35s);
  // The exchange above goes on with its tries; all calls wait for it.
  auto waiting = std::vector{call(), call(), call()};
  CHECK(keys().size() == 1);
  while (transport->answer(path(Endpoint::auth_token), test::json(401, "{}")))
    run();
  run();
  // It failed, and they went out with the old token.
  CHECK(keys().size() == 4);
  CHECK(notices.size() == 1);
  CHECK(notices[0].text.find("eyJ") == std::string::npos);
  pass(11s);
  call();
  call();
  CHECK(keys().size() == 4);
  give_token(9999, "two");
  CHECK(keys().size() == 6);
  CHECK(keys().back() == token(9999, "two"));
}

TEST_CASE_METHOD(Fixture, "A heartbeat does not wait for a token", "[actors][credentials]") {
  start("tml-key");
  exchange();
  give_token(30, "one");
  call(Endpoint::session_heartbeat);
  CHECK(keys(Endpoint::session_heartbeat) == Keys{token(30, "one")});
  CHECK(keys(Endpoint::auth_token).size() == 2); // but asks for one
}

TEST_CASE_METHOD(Fixture, "A failed first exchange is its asker's error", "[actors][credentials]") {
  start("tml-key");
  auto exchanged = exchange();
  answer_exchange(test::json(401, R"({"detail":"tml-key is not known"})"));
  REQUIRE(exchanged->has_value());
  REQUIRE_FALSE((*exchanged)->has_value());
  CHECK((*exchanged)->error().code == Errc::unauthenticated);
  CHECK((*exchanged)->error().message.find("tml-key") == std::string::npos);
  CHECK((*exchanged)->error().message.find("is not known") != std::string::npos);
  CHECK(keys(Endpoint::auth_token).size() == 1); // 401 is not tried again
}

TEST_CASE_METHOD(Fixture, "A refused token is neither renewed nor tried again for that",
                 "[actors][credentials]") {
  start("tml-key");
  exchange();
  give_token(3600, "one");
  auto answer = call();
  transport->answer(path(Endpoint::optim_step), test::json(401, "{}"));
  run();
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::unauthenticated);
  CHECK(keys().size() == 1);
  CHECK(keys(Endpoint::auth_token).size() == 1);
}

TEST_CASE_METHOD(Fixture, "A credential command runs for the first call and for each exchange",
                 "[actors][credentials]") {
  start({}, true);
  auto config = call(Endpoint::client_config);
  CHECK(keys(Endpoint::client_config).empty());
  end_command(Secret{"out-1"});
  CHECK(keys(Endpoint::client_config) == Keys{"out-1"});
  SECTION("if there is an exchange") {
    exchange();
    CHECK(keys(Endpoint::auth_token).empty());
    end_command(Secret{"out-2"});
    CHECK(keys(Endpoint::auth_token) == Keys{"out-2"});
    give_token(3600, "one");
    call();
    CHECK(keys() == Keys{token(3600, "one")});
  }
  SECTION("and not again if there is none") {
    call();
    CHECK(keys() == Keys{"out-1"});
    CHECK(commands.empty());
  }
}

TEST_CASE_METHOD(Fixture, "A command's output that is a token is renewed ahead of its end",
                 "[actors][credentials]") {
  start({}, true);
  call();
  call(); // one run for both
  REQUIRE(commands.size() == 1);
  end_command(Secret{token(3600, "one")});
  CHECK(keys().size() == 2);
  pass(3'300s);
  REQUIRE(commands.size() == 1);
  end_command(Secret{token(7200, "two")});
  call();
  CHECK(keys().back() == token(7200, "two"));
}

TEST_CASE_METHOD(Fixture, "A failed command fails the call that needs it",
                 "[actors][credentials]") {
  start({}, true);
  auto answer = call();
  end_command(fail(Errc::unauthenticated, "`credential_command` printed no credential"));
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::unauthenticated);
  CHECK(keys().empty());
}

TEST_CASE_METHOD(Fixture, "A service may insist on the command although there is a key",
                 "[actors][credentials]") {
  SECTION("and gets what it prints for the exchange, and only for that") {
    start("tml-key", true);
    call(Endpoint::client_config);
    CHECK(keys(Endpoint::client_config) == Keys{"tml-key"});
    exchange(true);
    end_command(Secret{"out-1"});
    CHECK(keys(Endpoint::auth_token) == Keys{"out-1"});
  }
  SECTION("which is an error where there is no command") {
    start("tml-key");
    auto exchanged = exchange(true);
    REQUIRE(exchanged->has_value());
    CHECK((*exchanged)->error().message.find("TINKER_CREDENTIAL_CMD") != std::string::npos);
  }
  SECTION("unless the key is a JWT") {
    start("eyJ.mine", true);
    exchange(true);
    CHECK(keys(Endpoint::auth_token) == Keys{"eyJ.mine"});
  }
}

TEST_CASE_METHOD(Fixture, "A key that cannot be one gives way to the command",
                 "[actors][credentials]") {
  start("sk-other", true);
  call();
  end_command(Secret{"out-1"});
  CHECK(keys() == Keys{"out-1"});
}

TEST_CASE_METHOD(Fixture, "What waits for a credential is answered when the actor ends",
                 "[actors][credentials][shutdown]") {
  start({}, true);
  auto answer = call();
  kill(caf::actor_cast<caf::actor>(http));
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::cancelled);
  commands.front()(Secret{"late"}); // to nobody
}

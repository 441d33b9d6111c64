// SPDX-License-Identifier: Apache-2.0
#include "api/wire/base64.hpp"
#include "test/server/server_fixture.hpp"

#include <chrono>

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::test;

namespace {

struct Fixture : ServerFixture {
  Fixture() {
    options.clock = [this] { return now; };
    options.client_config.pjwt_auth_enabled = true;
    options.limits.token_life = 90s;
    restart();
  }

  [[nodiscard]] HttpAnswer ask(const std::string& call, const std::string& key,
                               std::string_view body = R"({"sdk_version":"1"})") const {
    std::map<std::string, std::string> headers{{"Content-Type", "application/json"}};
    if (!key.empty())
      headers["X-API-Key"] = key;
    return client().http.call("POST", "/api/v1/" + call, body, headers);
  }

  [[nodiscard]] std::string token(const std::string& key) const {
    const auto answer = ask("auth/token", key, "{}");
    INFO(answer.body);
    REQUIRE(answer.status == 200);
    REQUIRE(answer.body.starts_with(R"({"jwt":")"));
    return answer.body.substr(8, answer.body.size() - 10);
  }

  std::chrono::system_clock::time_point now = std::chrono::system_clock::from_time_t(1'900'000'000);
};

/// The claims of a token.
std::string claims_of(const std::string& token) {
  const auto first = token.find('.') + 1;
  auto payload = token.substr(first, token.find('.', first) - first);
  payload.resize((payload.size() + 3) / 4 * 4, '=');
  return wire::from_base64(payload).value();
}

} // namespace

TEST_CASE_METHOD(ServerFixture, "The configuration of clients is that of the options",
                 "[server][config]") {
  options.client_config.fwdbwd_max_chunk_len = 3;
  options.client_config.create_model_via_load_weights = true;
  options.client_config.proto_compress_fwdbwd = true;
  options.config_refresh = 17s;
  restart();
  auto api = client();
  const auto config
      = wire::from_json<ClientConfig>(api.post("client/config", R"({"sdk_version":"1"})").body);
  REQUIRE(config.has_value());
  CHECK(*config == options.client_config);
  CHECK(api.post("client/dynamic_config", R"({"sdk_version":"1"})").body
        == R"({"refresh_interval_sec":17})");
}

TEST_CASE_METHOD(Fixture, "A key is exchanged for a token, which alone opens the other calls",
                 "[server][config]") {
  CHECK(ask("client/config", "any").body.find(R"("pjwt_auth_enabled":true)") != std::string::npos);
  const auto unknown = ask("client/dynamic_config", "any");
  CHECK(unknown.status == 401);
  CHECK(unknown.headers.at("www-authenticate") == R"(Bearer error="invalid_token")");
  CHECK(ask("client/dynamic_config", "").status == 401);
  const auto first = token("any");
  CHECK(claims_of(first) == R"({"sub":"local","iat":1900000000,"exp":1900000090})");
  CHECK(ask("client/dynamic_config", first).status == 200);
  CHECK(ask("client/dynamic_config", first + "x").status == 401);

  now += 90s;
  const auto expired = ask("client/dynamic_config", first);
  CHECK(expired.status == 401);
  CHECK(expired.headers.at("www-authenticate") == R"(Bearer error="invalid_token")");
  CHECK(expired.body
        == R"({"category":"user","detail":"the token in X-API-Key has expired; get another from )"
           R"(auth/token"})");
  CHECK(ask("client/dynamic_config", token("any")).status == 200);
}

TEST_CASE_METHOD(Fixture, "Only the right key is exchanged where the server has one",
                 "[server][config]") {
  options.api_key = "tml-right";
  restart();
  CHECK(ask("auth/token", "", "{}").status == 401);
  CHECK(ask("auth/token", "tml-wrong", "{}").status == 403);
  CHECK(ask("client/dynamic_config", "tml-right").status == 401);
  CHECK(ask("client/dynamic_config", token("tml-right")).status == 200);
  CHECK(client().http.call("GET", "/api/v1/healthz").status == 200);
}

TEST_CASE_METHOD(ServerFixture, "Bodies of which nothing is used must be right all the same",
                 "[server][config][errors]") {
  auto api = client();
  for (const auto* call : {"client/config", "client/dynamic_config"}) {
    CHECK(api.post(call, "{}").status == 400);
    CHECK(api.post(call, R"({"sdk_version":1})").status == 400);
  }
  for (const auto* call : {"auth/token", "telemetry"}) {
    CHECK(api.post(call, "[]").body
          == R"({"category":"user","detail":")" + std::string{call}
                 + R"( request: must be an object"})");
    CHECK(api.post(call, "{").status == 400);
  }
  CHECK(api.post("telemetry", R"({"events":[{"a":[]}],"x":1})").body == R"({"status":"accepted"})");
}

// SPDX-License-Identifier: Apache-2.0
#include "api/client_options.hpp"

#include "test/catch.hpp"

#include <cstdlib>
#include <map>
#include <sstream>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

/// Sets variables for one test and puts the old values back.
class Environment {
public:
  explicit Environment(const std::map<const char*, const char*>& values) {
    for (const auto* name :
         {"TINKER_BASE_URL", "TINKER_API_KEY", "TINKER_CREDENTIAL_CMD", "TINKER_PROJECT_ID",
          "TINKER_TAGS", "CLOUDFLARE_ACCESS_CLIENT_ID", "CLOUDFLARE_ACCESS_CLIENT_SECRET",
          "SSL_CERT_FILE", "TINKER_TELEMETRY"}) {
      const auto* old = std::getenv(name);
      old_[name] = old != nullptr ? std::optional<std::string>{old} : std::nullopt;
      ::unsetenv(name);
    }
    for (const auto& [name, value] : values)
      ::setenv(name, value, 1);
  }

  ~Environment() {
    for (const auto& [name, value] : old_) {
      if (value)
        ::setenv(name.c_str(), value->c_str(), 1);
      else
        ::unsetenv(name.c_str());
    }
  }

  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

private:
  std::map<std::string, std::optional<std::string>> old_;
};

ClientOptions good() {
  return {.base_url = "http://127.0.0.1:1", .api_key = "tml-key"};
}

std::string complaint(const ClientOptions& options) {
  auto valid = validate(options);
  REQUIRE_FALSE(valid.has_value());
  return valid.error().message;
}

} // namespace

TEST_CASE("Without an environment there are the defaults", "[api][options]") {
  Environment none{{}};
  auto options = with_environment({});
  CHECK(options.base_url == default_base_url);
  CHECK(options.api_key.empty());
  CHECK_FALSE(options.project_id.has_value());
  CHECK_FALSE(options.tags.has_value());
  CHECK(options.secret_headers.empty());
}

TEST_CASE("The environment fills what the caller left out", "[api][options]") {
  Environment some{{{"TINKER_BASE_URL", "http://h/x"},
                    {"TINKER_API_KEY", "tml-env"},
                    {"TINKER_PROJECT_ID", "proj-3"},
                    {"TINKER_TAGS", "a, b,a"},
                    {"CLOUDFLARE_ACCESS_CLIENT_ID", "id"},
                    {"CLOUDFLARE_ACCESS_CLIENT_SECRET", "secret"},
                    {"SSL_CERT_FILE", "/ca.pem"}}};
  auto options = with_environment({});
  CHECK(options.base_url == "http://h/x");
  CHECK(options.api_key.reveal() == "tml-env");
  CHECK(options.project_id == "proj-3");
  CHECK(options.tags == std::vector<std::string>{"a", " b"});
  CHECK(options.secret_headers
        == HttpHeaders{{"CF-Access-Client-Id", "id"}, {"CF-Access-Client-Secret", "secret"}});
  CHECK(options.ca_file == "/ca.pem");

  auto own = with_environment(
      {.base_url = "http://own", .api_key = "tml-own", .tags = std::vector<std::string>{}});
  CHECK(own.base_url == "http://own");
  CHECK(own.api_key.reveal() == "tml-own");
  CHECK(own.tags->empty());
}

TEST_CASE("A service on this machine needs no key", "[api][options]") {
  for (const auto* url : {"http://127.0.0.1:8080", "http://localhost", "http://[::1]:8080/x"}) {
    INFO(url);
    CHECK(validate(with_environment({.base_url = url})));
  }
  CHECK(with_environment({.base_url = "http://127.0.0.1", .api_key = "tml-own"}).api_key.reveal()
        == "tml-own");
  for (const auto* url :
       {"https://127.0.0.1", "http://example.org", "http://localhost.example.org"}) {
    INFO(url);
    CHECK_FALSE(validate(with_environment({.base_url = url})));
  }
}

TEST_CASE("Empty variables count as unset, but for tags", "[api][options]") {
  Environment empty{{{"TINKER_BASE_URL", ""}, {"TINKER_PROJECT_ID", ""}, {"TINKER_TAGS", ""}}};
  auto options = with_environment({});
  CHECK(options.base_url == default_base_url);
  CHECK_FALSE(options.project_id.has_value());
  CHECK(options.tags == std::vector<std::string>{""});
}

TEST_CASE("A command that the caller set is not overruled by a key of the environment",
          "[api][options]") {
  Environment key{{{"TINKER_API_KEY", "tml-env"}}};
  CHECK(with_environment({.credential_command = "print-key"}).api_key.empty());
}

TEST_CASE("Credentials are checked by their beginning and never repeated", "[api][options]") {
  CHECK(validate_credential("tml-x").has_value());
  CHECK(validate_credential("eyJx").has_value());
  CHECK(is_jwt("eyJx"));
  CHECK_FALSE(is_jwt("tml-x"));
  for (const auto* bad : {"", "sk-hush", " tml-hush"}) {
    auto checked = validate_credential(bad);
    REQUIRE_FALSE(checked.has_value());
    CHECK(checked.error().code == Errc::unauthenticated);
    CHECK(to_string(checked.error()).find("hush") == std::string::npos);
  }
}

TEST_CASE("Bad options are named with their value", "[api][options]") {
  CHECK(validate(good()).has_value());
  auto options = good();
  options.base_url = "ftp://x";
  CHECK(complaint(options).find("base_url is `ftp://x`") != std::string::npos);
  options = good();
  options.api_key = "";
  CHECK(complaint(options).find("TINKER_API_KEY") != std::string::npos);
  options = good();
  options.heartbeat_interval = 0ms;
  CHECK(complaint(options) == "heartbeat_interval is 0 ms, but must be above 0");
  options = good();
  options.max_connections = 0;
  CHECK(complaint(options).find("max_connections is 0") != std::string::npos);
  options = good();
  options.retry.jitter = 2.0;
  CHECK(complaint(options).find("retry.jitter is 2") != std::string::npos);
  options = good();
  options.trace = {.enabled = true, .traceparent = "abc"};
  CHECK(complaint(options).find("trace.traceparent is `abc`") != std::string::npos);
  options = good();
  options.polling.poll_timeout = 0ms;
  CHECK(complaint(options).find("polling.poll_timeout is 0 ms") != std::string::npos);
  options = good();
  options.restarts.pollers.window = -1ms;
  CHECK(complaint(options).find("restarts.pollers.window is -1 ms") == 0);
  options = good();
  options.restarts.clients.first_delay = -2ms;
  CHECK(complaint(options).find("restarts.clients.first_delay is -2 ms") == 0);
  options = good();
  options.restarts.services.max_delay = -3ms;
  CHECK(complaint(options).find("restarts.services.max_delay is -3 ms") == 0);
}

TEST_CASE("Telemetry is on until the environment or the caller says otherwise",
          "[api][options][telemetry]") {
  for (const auto* yes : {"1", "true", "YES", "On"}) {
    Environment some{{{"TINKER_TELEMETRY", yes}}};
    CHECK(with_environment({}).telemetry == true);
  }
  for (const auto* no : {"", "0", "false", "2", " 1", "off"}) {
    Environment some{{{"TINKER_TELEMETRY", no}}};
    CHECK(with_environment({}).telemetry == false);
    ClientOptions mine;
    mine.telemetry = true;
    CHECK(with_environment(mine).telemetry == true);
  }
  Environment none{{}};
  CHECK(with_environment({}).telemetry.value_or(true));
}

TEST_CASE("A service on this machine is called past the environment's proxy", "[api][options]") {
  ClientOptions local;
  local.base_url = "http://localhost:8080";
  CHECK(http_client_options(local).proxy == Secret{});
  local.proxy = "http://proxy:3128";
  CHECK(http_client_options(local).proxy == Secret{"http://proxy:3128"});
  ClientOptions hosted;
  hosted.base_url = "https://tinker.example";
  CHECK_FALSE(http_client_options(hosted).proxy.has_value());
}

TEST_CASE("A bad proxy is refused without being shown", "[api][options]") {
  auto options = good();
  options.proxy = "ftp://me:hush@host";
  CHECK(complaint(options).find("proxy must") == 0);
  CHECK(complaint(options).find("hush") == std::string::npos);
  options.proxy = "";
  CHECK(validate(options).has_value());
}

TEST_CASE("A secret is not printed in any way", "[api][secret]") {
  Secret secret{"tml-hush"};
  std::ostringstream out;
  out << secret;
  CHECK(out.str() == "<redacted>");
  CHECK(fmt::format("{}", secret) == "<redacted>");
  CHECK(fmt::format("{:>12}", secret) == "  <redacted>");
  CHECK(to_string(secret) == "<redacted>");
  CHECK(to_string(Secret{}) == "<unset>");
}

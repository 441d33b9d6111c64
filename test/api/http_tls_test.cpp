// SPDX-License-Identifier: Apache-2.0
#include "test/api/http_fixture.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace tinkaf;
using test::Reply;

// Certificates and the TLS server come from the program `openssl`.

namespace {

/// A new folder, gone at the end.
class TemporaryFolder {
public:
  TemporaryFolder() {
    auto pattern = (std::filesystem::temp_directory_path() / "tinkaf-tls-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }

  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string file(const char* name) const {
    return (path_ / name).string();
  }

private:
  std::filesystem::path path_;
};

/// A TLS server on a free port with a self-signed certificate for `names`.
class TlsServer {
public:
  explicit TlsServer(const std::string& names) {
    auto made = std::system(
        fmt::format("'{}' req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=test -addext "
                    "subjectAltName={} -keyout '{}' -out '{}' 2>/dev/null",
                    TINKAF_OPENSSL, names, key_, certificate_)
            .c_str());
    REQUIRE(made == 0);
    start();
  }

  ~TlsServer() {
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
    std::fclose(output_);
  }

  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  [[nodiscard]] std::string url(const char* host = "127.0.0.1") const {
    return fmt::format("https://{}:{}", host, port_);
  }

  [[nodiscard]] const std::string& certificate() const {
    return certificate_;
  }

private:
  void start() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    process_ = ::fork();
    REQUIRE(process_ >= 0);
    if (process_ == 0) {
      ::dup2(ends[1], STDOUT_FILENO);
      ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
      ::close(ends[0]);
      ::close(ends[1]);
      ::execl(TINKAF_OPENSSL, "openssl", "s_server", "-accept", "127.0.0.1:0", "-www", "-cert",
              certificate_.c_str(), "-key", key_.c_str(), static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(ends[1]);
    output_ = ::fdopen(ends[0], "r");
    REQUIRE(output_ != nullptr);
    char line[256];
    while (port_ == 0 && std::fgets(line, sizeof line, output_) != nullptr)
      static_cast<void>(std::sscanf(line, "ACCEPT 127.0.0.1:%d", &port_));
    REQUIRE(port_ != 0);
  }

  TemporaryFolder folder_;
  std::string key_ = folder_.file("key.pem");
  std::string certificate_ = folder_.file("certificate.pem");
  pid_t process_ = -1;
  std::FILE* output_ = nullptr;
  int port_ = 0;
};

Result<HttpResponse> get(const std::string& url, HttpClientOptions options) {
  auto client = test::make_client(url, std::move(options));
  HttpRequest request{.method = "GET", .path = "/"};
  request.secret_headers = {{"X-API-Key", "tml-hush"}};
  return Reply{*client, request}.get();
}

} // namespace

TEST_CASE("Certificates are checked unless that is switched off", "[api][http][tls]") {
  TlsServer server{"IP:127.0.0.1"};

  auto stranger = get(server.url(), {});
  REQUIRE_FALSE(stranger.has_value());
  CHECK(stranger.error().code == Errc::connection);
  CHECK(stranger.error().should_retry == false);
  CHECK_FALSE(stranger.error().ambiguous);
  CHECK(stranger.error().message.find(server.url()) != std::string::npos);
  CHECK(stranger.error().message.find("certificate") != std::string::npos);

  auto trusted = get(server.url(), {.ca_file = server.certificate()});
  REQUIRE(trusted.has_value());
  CHECK(trusted->status == 200);

  auto unchecked = get(server.url(), {.verify_tls = false});
  REQUIRE(unchecked.has_value());
  CHECK(unchecked->status == 200);
}

TEST_CASE("A certificate for another host is refused although it is trusted", "[api][http][tls]") {
  TlsServer server{"DNS:other.example.org"};
  auto answer = get(server.url(), {.ca_file = server.certificate()});
  REQUIRE_FALSE(answer.has_value());
  CHECK(answer.error().code == Errc::connection);
  CHECK_FALSE(answer.error().ambiguous);
}

// SPDX-License-Identifier: Apache-2.0
#include "api/credential_command.hpp"

#include "test/catch.hpp"

#include <future>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

std::future<Result<Secret>> start(CredentialCommand& command) {
  auto promise = std::make_shared<std::promise<Result<Secret>>>();
  auto answer = promise->get_future();
  command.run([promise](Result<Secret> x) { promise->set_value(std::move(x)); });
  return answer;
}

Result<Secret> output_of(const std::string& text, std::chrono::milliseconds limit = 60s) {
  CredentialCommand command{text, limit};
  return start(command).get();
}

} // namespace

TEST_CASE("What the credential command prints is taken without blanks", "[api][credential]") {
  CHECK(output_of("printf ' tml-a\\n\\n'").value().reveal() == "tml-a");
  CHECK(output_of("echo tml-$((1 + 1)) | cat").value().reveal() == "tml-2");
}

TEST_CASE("Error output and exit code of the credential command do not matter",
          "[api][credential]") {
  CHECK(output_of("echo noise >&2; echo tml-b; exit 3").value().reveal() == "tml-b");
}

TEST_CASE("A credential command has nothing to read", "[api][credential]") {
  CHECK(output_of("cat; echo tml-c").value().reveal() == "tml-c");
}

TEST_CASE("A credential command that prints nothing is an error", "[api][credential]") {
  for (const auto* text : {"true", "echo '  '", "no-such-program-anywhere", "exec >&-"}) {
    auto output = output_of(text);
    REQUIRE_FALSE(output.has_value());
    CHECK(output.error().code == Errc::unauthenticated);
  }
}

TEST_CASE("A credential command that does not end is killed with its children",
          "[api][credential]") {
  // The pipe stays open as long as one of them lives.
  auto output = output_of("echo tml-secret; sleep 600 & sleep 600", 200ms);
  REQUIRE_FALSE(output.has_value());
  CHECK(output.error().code == Errc::unauthenticated);
  CHECK(output.error().message.find("tml-secret") == std::string::npos);
  CHECK(output.error().message.find("200 ms") != std::string::npos);
}

TEST_CASE("A credential command that floods is given up", "[api][credential]") {
  auto output = output_of("yes tml-secret");
  REQUIRE_FALSE(output.has_value());
  CHECK(output.error().message.find("tml-secret") == std::string::npos);
}

TEST_CASE("The end of its owner ends a credential command", "[api][credential]") {
  std::vector<std::future<Result<Secret>>> answers;
  {
    CredentialCommand command{"sleep 600", 600s};
    answers.push_back(start(command));
    answers.push_back(start(command));
  }
  for (auto& answer : answers) {
    auto output = answer.get();
    REQUIRE_FALSE(output.has_value());
    CHECK(output.error().code == Errc::cancelled);
  }
}

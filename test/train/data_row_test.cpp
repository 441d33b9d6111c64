// SPDX-License-Identifier: Apache-2.0
#include "train/data_row.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <utility>

using namespace tinkaf;
using namespace tinkaf::train;

namespace {

std::string error_of(std::string_view text) {
  auto rows = parse_rows(text, "data.jsonl");
  REQUIRE_FALSE(rows);
  CHECK(rows.error().code == Errc::invalid_argument);
  return rows.error().message;
}

} // namespace

TEST_CASE("Rows are prompts with completions or chats", "[train][data_row]") {
  const auto rows = parse_rows("\xEF\xBB\xBF{\"prompt\":\"a\",\"completion\":\"\\u00e9\"}\r\n"
                               "\n"
                               R"({"messages":[{"role":"user","content":"hi"},)"
                               R"({"role":"assistant","content":"yes"}],"id":3})",
                               "data.jsonl");
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  CHECK((*rows)[0] == DataRow{1, PromptCompletion{"a", "\u00e9"}});
  CHECK((*rows)[1] == DataRow{3, Conversation{{"user", "hi"}, {"assistant", "yes"}}});
}

TEST_CASE("A bad row is named by file, line and field", "[train][data_row]") {
  const auto good = std::string{"{\"prompt\":\"a\",\"completion\":\"b\"}\n"};
  const auto [row, reason] = GENERATE(
      std::pair{R"({"prompt":"a"})", R"(data.jsonl:2: field "completion" is missing)"},
      std::pair{R"({"prompt":7,"completion":"b"})",
                R"(data.jsonl:2: field "prompt" must be a string, but is a number)"},
      std::pair{R"([1])", "data.jsonl:2: a row must be an object, but this is an array"},
      std::pair{R"({"messages":"x"})",
                R"(data.jsonl:2: field "messages" must be an array, but is a string)"},
      std::pair{R"({"messages":[{"role":"user","content":null}]})",
                R"(data.jsonl:2: field "messages[0].content" must be a string, but is null)"},
      std::pair{R"({"messages":[{"role":"robot","content":"x"}]})",
                R"(data.jsonl:2: field "messages[0].role" must be one of system, user, )"
                R"(assistant, but is "robot")"});
  CHECK(error_of(good + row) == reason);
}

TEST_CASE("Broken JSON is named by file, line and column", "[train][data_row]") {
  CHECK(error_of("{\"prompt\": \"a\"").find("data.jsonl:1: not valid JSON at column ") == 0);
  CHECK(error_of("{\"prompt\": \"\xff\", \"completion\": \"\"}").find("data.jsonl:1: not valid")
        == 0);
  CHECK(error_of("{\"a\":1} {\"b\":2}").find("data.jsonl:1: not valid JSON") == 0);
}

TEST_CASE("A row nested without end is refused, not followed", "[train][data_row]") {
  CHECK(error_of(std::string(300'000, '[')).find("data.jsonl:1: not valid JSON") == 0);
}

TEST_CASE("A chat without an answer, and a file without rows, teach nothing", "[train][data_row]") {
  CHECK(error_of(R"({"messages":[{"role":"user","content":"hi"}]})").find("nothing to learn")
        != std::string::npos);
  CHECK(error_of("\n \n") == "data.jsonl holds no rows");
}

TEST_CASE("A file that cannot be read is named with the reason", "[train][data_row]") {
  const auto folder = test::TempFolder{};
  const auto missing = read_rows(folder.path() / "none.jsonl");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == Errc::io_error);
  CHECK(missing.error().message
        == "cannot read " + (folder.path() / "none.jsonl").string()
               + ": No such file or directory");
  const auto not_a_file = read_rows(folder.path());
  REQUIRE_FALSE(not_a_file);
  CHECK(not_a_file.error().message.find("it is a folder") != std::string::npos);
}

// SPDX-License-Identifier: Apache-2.0
#include "cli/tables.hpp"

#include "test/catch.hpp"

#include <utility>

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::cli;

TEST_CASE("Sizes are told as people read them", "[cli][tables]") {
  CHECK(size_text(0) == "0 B");
  CHECK(size_text(1023) == "1023 B");
  CHECK(size_text(1536) == "1.5 KB");
  CHECK(size_text(std::int64_t{3} << 30U) == "3.0 GB");
  CHECK(size_text(-1) == "N/A");
  CHECK(size_text({}) == "N/A");
}

TEST_CASE("Times are told as seen from now", "[cli][tables]") {
  const auto now = Timestamp{std::chrono::sys_days{std::chrono::year{2026} / 3 / 4}};
  using std::chrono::days;
  const std::pair<std::chrono::seconds, const char*> cases[] = {
      {0s, "just now"},          {-59s, "just now"},
      {-60s, "1 minute ago"},    {-5min, "5 minutes ago"},
      {-2h, "2 hours ago"},      {-days{7}, "7 days ago"},
      {-days{8}, "1 week ago"},  {-days{30}, "4 weeks ago"},
      {-days{31}, "2026-02-01"}, {30s, "in less than a minute"},
      {2h, "in 2 hours"},        {days{40}, "2026-04-13"},
  };
  for (const auto& [distance, text] : cases)
    CHECK(time_text(now + distance, now) == text);
  CHECK(time_text({}, now) == "N/A");
}

TEST_CASE("A table's columns are as wide as their longest text", "[cli][tables]") {
  CHECK(table_text({"ID", "Model"}, {{"a", "x"}, {"long-id", "\xC3\xA4y"}, {"b\n", ""}})
        == "ID       Model\n"
           "-------  -----\n"
           "a        x\n"
           "long-id  \xC3\xA4y\n"
           "b?\n");
}

TEST_CASE("JSON is indented and its times are spaced", "[cli][tables]") {
  CHECK(pretty_json(R"({"a":[{"time":"2026-03-04T05:06:07Z","n":9007199254740993}],"time":3})")
        == "{\n"
           "  \"a\": [\n"
           "    {\n"
           "      \"time\": \"2026-03-04 05:06:07+00:00\",\n"
           "      \"n\": 9007199254740993\n"
           "    }\n"
           "  ],\n"
           "  \"time\": 3\n"
           "}");
  CHECK(json_text("a\"b") == R"("a\"b")");
}

// SPDX-License-Identifier: Apache-2.0
#include "messages/visible_text.hpp"

#include "messages/error.hpp"
#include "messages/notice.hpp"
#include "test/catch.hpp"

#include <string>
#include <utility>

using namespace tinkaf;

TEST_CASE("Text that does nothing stays as it is", "[messages][text]") {
  for (const std::string text : {"", "plain", "C:\\new \\x1b", "Größe 尺寸 \xF0\x9F\x98\x80"})
    CHECK(visible(text) == text);
}

TEST_CASE("What acts on a terminal or a log becomes visible", "[messages][text]") {
  for (const auto& [text, seen] : {std::pair<std::string, std::string>{"a\nb\r\tc", "a\\nb\\r\\tc"},
                                   {"\x1b[31mred", "\\x1b[31mred"},
                                   {std::string("nul\0!", 5), "nul\\x00!"},
                                   {"\x7f", "\\x7f"},
                                   {"\xC2\x9B"
                                    "31m",
                                    "\\u{9b}31m"},
                                   {"\xE2\x80\xAE"
                                    "exe",
                                    "\\u{202e}exe"},
                                   {"line\xE2\x80\xA8"
                                    "end",
                                    "line\\u{2028}end"}}) {
    CHECK(visible(text) == seen);
    CHECK(visible(seen) == seen);
  }
}

TEST_CASE("Bytes that are no UTF-8 become visible one by one", "[messages][text]") {
  CHECK(visible("\xFF") == "\\xff");
  CHECK(visible("a\xC3") == "a\\xc3");
  CHECK(visible("\xC3(") == "\\xc3(");
  CHECK(visible("\xC0\xAF") == "\\xc0\\xaf");          // overlong
  CHECK(visible("\xED\xA0\x80") == "\\xed\\xa0\\x80"); // a surrogate
  CHECK(visible("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");
  CHECK(visible("\xE2\x82") == "\\xe2\\x82");
}

TEST_CASE("Errors and notices are visible text, whoever wrote it", "[messages][text]") {
  CHECK(to_string(Error{.code = Errc::not_found, .message = "a\nb", .request_id = "\xFF"})
        == "not_found: a\\nb [request \\xff]");
  Notice seen;
  visible_notices([&](const Notice& x) { seen = x; })({Severity::error, "pwned\r\n"});
  CHECK(seen == Notice{Severity::error, "pwned\\r\\n"});
  CHECK_FALSE(visible_notices({}));
}

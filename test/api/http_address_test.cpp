// SPDX-License-Identifier: Apache-2.0
#include "api/http/http_address.hpp"

#include "test/catch.hpp"

using namespace tinkaf;

TEST_CASE("Paths are appended to the base address as they are", "[api][http]") {
  auto join = [](std::string_view base, std::string_view path) {
    auto address = BaseAddress::parse(base);
    REQUIRE(address.has_value());
    return address->join(path);
  };
  CHECK(join("https://h/x", "/api/v1/audit") == "https://h/x/api/v1/audit");
  CHECK(join("https://h/x/", "/api/v1/audit") == "https://h/x/api/v1/audit");
  CHECK(join("http://h:80", "api") == "http://h:80/api");
  CHECK(join("http://h", "/runs/s:train:0/checkpoints/weights/a?limit=1")
        == "http://h/runs/s:train:0/checkpoints/weights/a?limit=1");
  CHECK(join("http://h", "https://other/y") == "https://other/y");
}

TEST_CASE("A base address must be one, and holds no secret", "[api][http]") {
  for (const auto* url : {"", "h", "ftp://h", "http://", "http://u@h", "http://u:p@h", "http://h?q",
                          "http://h#f", "http://h:x"})
    CHECK_FALSE(BaseAddress::parse(url).has_value());
  auto secret = BaseAddress::parse("http://u:hush@h");
  CHECK(secret.error().message.find("hush") == std::string::npos);
}

TEST_CASE("An origin is scheme, host and port", "[api][http]") {
  CHECK(origin_of("https://h/x?y") == std::string{"https://h:443"});
  CHECK(origin_of("http://h") == std::string{"http://h:80"});
  CHECK(origin_of("http://h:80/a") == origin_of("http://h/b"));
  CHECK(origin_of("http://h") != origin_of("https://h"));
}

TEST_CASE("Locations may be relative", "[api][http]") {
  CHECK(resolve("http://h/a/b", "c") == std::string{"http://h/a/c"});
  CHECK(resolve("http://h/a/b", "/c") == std::string{"http://h/c"});
  CHECK(resolve("http://h/a/b", "https://o/c") == std::string{"https://o/c"});
  CHECK_FALSE(resolve("http://h/a", "file:///etc/passwd").has_value());
  CHECK_FALSE(resolve("https://h/a", "http://h/a").has_value());
}

// SPDX-License-Identifier: Apache-2.0
#include "api/wire/compression.hpp"

#include "test/catch.hpp"

using namespace tinkaf;

namespace {

constexpr std::size_t plenty = 10'000'000;

} // namespace

TEST_CASE("What is packed is unpacked the same", "[api][compression]") {
  std::string large(1'000'000, 'x');
  for (std::size_t i = 0; i < large.size(); i += 7)
    large[i] = static_cast<char>(i * 31 % 251);
  for (const auto& text : {std::string{}, std::string{"a"}, large}) {
    CHECK(wire::decompress("zstd", *wire::zstd_compress(text), plenty) == text);
    CHECK(wire::decompress("gzip", *wire::gzip_compress(text), plenty) == text);
    CHECK(wire::decompress("identity", text, plenty) == text);
    CHECK(wire::decompress("", text, plenty) == text);
  }
}

TEST_CASE("Deflate is read with its header and bare", "[api][compression]") {
  std::string with_header{"\x78\x9c\x4b\x4c\x4a\x06\x00\x02\x4d\x01\x27", 11};
  std::string bare{"\x4b\x4c\x4a\x06\x00", 5};
  CHECK(wire::decompress("deflate", with_header, plenty) == std::string{"abc"});
  CHECK(wire::decompress("deflate", bare, plenty) == std::string{"abc"});
}

TEST_CASE("A small body that would unpack to a huge one is refused", "[api][compression]") {
  std::string zeros(5'000'000, '\0');
  for (const auto& [encoding, packed] :
       {std::pair{"zstd", *wire::zstd_compress(zeros)}, {"gzip", *wire::gzip_compress(zeros)}}) {
    CHECK(packed.size() < 10'000);
    auto unpacked = wire::decompress(encoding, packed, 1'000'000);
    REQUIRE_FALSE(unpacked.has_value());
    CHECK(unpacked.error().message == "the unpacked body is larger than 1000000 bytes");
    CHECK(wire::decompress(encoding, packed, zeros.size()).has_value());
  }
}

TEST_CASE("Unknown encodings and broken bodies are named", "[api][compression]") {
  auto unknown = wire::decompress("br", "x", plenty);
  REQUIRE_FALSE(unknown.has_value());
  CHECK(unknown.error().message.find("`br`") != std::string::npos);
  for (const auto* encoding : {"zstd", "gzip", "deflate"}) {
    CHECK_FALSE(wire::decompress(encoding, "no such thing", plenty).has_value());
    CHECK_FALSE(wire::decompress(encoding, "", plenty).has_value());
  }
  auto cut = *wire::gzip_compress("hello, hello, hello");
  cut.resize(cut.size() - 4);
  CHECK_FALSE(wire::decompress("gzip", cut, plenty).has_value());
}

// SPDX-License-Identifier: Apache-2.0
#include "server/http/byte_range.hpp"

#include "test/catch.hpp"

using namespace tinkaf::server;
using Kind = ByteRange::Kind;

TEST_CASE("A range of bytes is read as RFC 9110 has it", "[server][http]") {
  CHECK(read_range("bytes=0-0", 10) == ByteRange{Kind::part, 0, 1});
  CHECK(read_range("bytes=3-7", 10) == ByteRange{Kind::part, 3, 5});
  CHECK(read_range("bytes=3-", 10) == ByteRange{Kind::part, 3, 7});
  CHECK(read_range("bytes=3-99", 10) == ByteRange{Kind::part, 3, 7});
  CHECK(read_range("bytes=-4", 10) == ByteRange{Kind::part, 6, 4});
  CHECK(read_range("bytes=-99", 10) == ByteRange{Kind::part, 0, 10});
}

TEST_CASE("A range that holds no byte lies outside", "[server][http]") {
  for (const auto* outside : {"bytes=10-", "bytes=10-12", "bytes=-0"})
    CHECK(read_range(outside, 10).kind == Kind::outside);
  CHECK(read_range("bytes=0-", 0).kind == Kind::outside);
  CHECK(read_range("bytes=-1", 0).kind == Kind::outside);
}

TEST_CASE("What is no single range asks for the whole", "[server][http]") {
  for (const auto* other :
       {"", "bytes", "bytes=", "bytes=-", "bytes=7-3", "bytes=a-b", "bytes=1-2,4-5", "lines=1-2",
        "bytes=1 -2", "bytes=--1", "bytes=99999999999999999999-"})
    CHECK(read_range(other, 10) == ByteRange{Kind::whole, 0, 10});
}

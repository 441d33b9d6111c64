// SPDX-License-Identifier: Apache-2.0
#include "server/unread.hpp"

#include "api/wire/protobuf.hpp"
#include "test/catch.hpp"

using namespace tinkaf;
using tinkaf::server::peek;

TEST_CASE("Model and number are found in bodies that are wrong elsewhere", "[server][unread]") {
  const auto json = peek(R"({"model_id":"m","seq_id":7,"adam_params":{"beta1":"x"}})", false);
  CHECK(json.model_id == "m");
  CHECK(json.seq_id == 7);

  ForwardBackwardRequest request{.model_id = "m", .seq_id = 300};
  request.data = BatchSlice::whole(make_batch({{.model_input = ModelInput::from_ints({1, 2})}}));
  const auto bytes = wire::to_protobuf(request).value();
  CHECK(peek(bytes, true).model_id == "m");
  CHECK(peek(bytes, true).seq_id == 300);
}

TEST_CASE("Nothing is found where there is nothing", "[server][unread]") {
  for (const std::string body : {"", "{", "[]", R"({"seq_id":"7"})", "\xff\xff\xff", "\x0a\x7f"})
    for (const bool protobuf : {false, true}) {
      const auto found = peek(body, protobuf);
      CHECK(found.model_id.empty());
      CHECK_FALSE(found.seq_id.has_value());
    }
}

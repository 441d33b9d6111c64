// SPDX-License-Identifier: Apache-2.0
#include "api/wire/protobuf.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

// The request that a server reads as protobuf, and the two results that a client does.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tinkaf;
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  if (const auto request = wire::forward_backward_request_from_protobuf(bytes))
    if (const auto written = wire::to_protobuf(*request)) {
      const auto again = wire::forward_backward_request_from_protobuf(*written);
      if (!again || wire::to_protobuf(*again).value_or("") != *written)
        __builtin_trap();
    }
  (void)wire::forward_backward_output_from_protobuf(bytes);
  (void)wire::sample_response_from_protobuf(bytes);
  return 0;
}

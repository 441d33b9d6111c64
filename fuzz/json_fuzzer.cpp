// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

// Every request that a server reads as JSON. What one reader takes must be written and read again
// as the same value.

namespace {

using namespace tinkaf;

template <class T>
std::string text_of(const T& x) {
  if constexpr (std::is_same_v<decltype(wire::to_json(x)), std::string>)
    return wire::to_json(x);
  else
    return wire::to_json(x).value_or(std::string{});
}

template <class T>
void read(std::string_view json) {
  const auto x = wire::from_json<T>(json);
  if (!x)
    return;
  const auto text = text_of(*x);
  if (text.empty())
    return; // it holds what JSON cannot
  const auto again = wire::from_json<T>(text);
  if (!again || text_of(*again) != text)
    __builtin_trap();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view json{reinterpret_cast<const char*>(data), size};
  read<CreateSessionRequest>(json);
  read<SessionHeartbeatRequest>(json);
  read<CreateModelRequest>(json);
  read<ForwardBackwardRequest>(json);
  read<OptimStepRequest>(json);
  read<SaveWeightsRequest>(json);
  read<SaveWeightsForSamplerRequest>(json);
  read<SaveWeightsExternalRequest>(json);
  read<LoadWeightsRequest>(json);
  read<CreateSamplingSessionRequest>(json);
  read<AsampleRequest>(json);
  read<RetrieveFutureRequest>(json);
  return 0;
}

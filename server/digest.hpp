// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/requests.hpp"

#include <string>
#include <string_view>

// Short texts that tell the payloads of requests apart: equal for equal contents, whatever the
// encoding in which they came.

namespace tinkaf::server {

/// 128 bits of FNV-1a, in hexadecimal.
[[nodiscard]] std::string digest_of(std::string_view bytes);

/// @param call the name of the call; equal bodies of different calls differ
/// @param json the request as our own writer puts it
[[nodiscard]] std::string digest_of(std::string_view call, std::string_view json);

[[nodiscard]] std::string digest_of(const ForwardBackwardRequest& request);

} // namespace tinkaf::server

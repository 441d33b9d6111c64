// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/secret.hpp"

#include <chrono>
#include <optional>
#include <string_view>

namespace tinkaf {

/// Reads the answer to `auth/token`: a short-lived token in exchange for the credential.
/// @returns `Errc::protocol_error`, which never holds a part of the answer
[[nodiscard]] Result<Secret> read_access_token(std::string_view json);

/// When a token ends by its own word; nothing if it does not say. The signature is not checked.
[[nodiscard]] std::optional<std::chrono::system_clock::time_point>
expiry_of(const Secret& access_token);

/// How long to use a token before it is exchanged for the next one: until five minutes before its
/// end, one minute if the end is not known, and never less than ten seconds.
[[nodiscard]] std::chrono::seconds renewal_delay(const Secret& access_token,
                                                 std::chrono::system_clock::time_point now);

} // namespace tinkaf

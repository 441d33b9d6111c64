// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/rest_usage.hpp"
#include "messages/secret.hpp"

namespace tinkaf {

/// Who a token speaks for, by its claims `sub` and `email`; the signature is not checked.
/// @param token a JWT that the service gave, or else the credential itself
/// @param exchanged whether the service gave it; of a credential only a JWT whose issuer begins
///   with `passport-` is taken, as in the official SDK
/// @returns `Errc::unauthenticated`, which never holds a part of the token
[[nodiscard]] Result<WhoamiResponse> read_claims(const Secret& token, bool exchanged);

} // namespace tinkaf

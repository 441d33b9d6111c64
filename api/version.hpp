// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace tinkaf {

/// Our own release, for example "0.1.0".
[[nodiscard]] std::string_view version() noexcept;

/// `tinkaf/<version>`, the User-Agent of every request.
[[nodiscard]] std::string user_agent();

/// The release of the official SDK whose wire we speak: goes into bodies that ask for
/// `sdk_version`, because the service decides by it what a client understands.
inline constexpr std::string_view service_sdk_version = "0.25.0";

} // namespace tinkaf

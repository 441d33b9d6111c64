// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <string>
#include <string_view>

namespace tinkaf {

/// Scheme, host and port of a URL: what a credential belongs to. Safe to print.
/// @returns "https://host:443", or nothing if `url` is not an http or https address
[[nodiscard]] Result<std::string> origin_of(const std::string& url);

/// Where the `Location` of an answer to `url` leads.
/// @returns `Errc::protocol_error` if that is not http or https, or http where `url` is https
[[nodiscard]] Result<std::string> resolve(const std::string& url, const std::string& location);

/// The address of a service: where paths are appended.
class BaseAddress {
public:
  /// Checks the address: http or https, no name or password, no query, no fragment.
  [[nodiscard]] static Result<BaseAddress> parse(std::string_view url);

  /// The URL of a path below it; a whole URL stays as it is.
  [[nodiscard]] std::string join(std::string_view path) const;

  [[nodiscard]] const std::string& origin() const noexcept {
    return origin_;
  }

private:
  std::string url_;
  std::string origin_;
};

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "api/version.hpp"

namespace tinkaf {

std::string_view version() noexcept {
  return TINKAF_VERSION;
}

std::string user_agent() {
  return "tinkaf/" TINKAF_VERSION;
}

} // namespace tinkaf

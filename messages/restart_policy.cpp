// SPDX-License-Identifier: Apache-2.0
#include "messages/restart_policy.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace tinkaf {

Result<void> validate(const RestartPolicy& policy, std::string_view name) {
  for (const auto& [field, time] :
       std::array{std::pair{"window", policy.window}, std::pair{"first_delay", policy.first_delay},
                  std::pair{"max_delay", policy.max_delay}})
    if (time.count() < 0)
      return fail(Errc::invalid_argument, fmt::format("{}.{} is {} ms, but must not be below 0",
                                                      name, field, time.count()));
  return {};
}

} // namespace tinkaf

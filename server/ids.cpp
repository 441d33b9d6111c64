// SPDX-License-Identifier: Apache-2.0
#include "server/ids.hpp"

#include <fmt/format.h>

#include <random>

namespace tinkaf::server {

std::string make_uuid() {
  std::random_device random;
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:04x}{:08x}", random(), random() & 0xffffU,
                     random() & 0xfffU, 0x8000U | (random() & 0x3fffU), random() & 0xffffU,
                     random());
}

std::string make_secret() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

std::int64_t draw_seed() {
  return std::random_device{}() & 0x7fff'ffffU;
}

} // namespace tinkaf::server

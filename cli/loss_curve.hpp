// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace tinkaf::cli {

/// Draws losses over steps with characters: several lines, each with its end.
/// @param losses one value a step; those that are not finite are left out
/// @param columns width of the whole drawing
/// @param rows height of the curve without its axis; at least 2
[[nodiscard]] std::string loss_curve(std::span<const double> losses, std::size_t columns,
                                     std::size_t rows);

} // namespace tinkaf::cli

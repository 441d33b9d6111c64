// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <string>

namespace tinkaf::train {

/// What a run begins from that is another run's end.
struct StartPoint {
  /// `tinker://…/weights/…`
  std::string state_path;

  /// The same weights to sample from, `tinker://…/sampler_weights/…`; empty if they were not saved
  /// so.
  std::string sampler_path;
};

/// Finds where a run is to begin.
/// @param from folder of another run, whose last checkpoint is meant, or a `tinker://…/weights/…`
///   path
/// @returns `Errc::invalid_argument` for a path of another kind, `Errc::not_found` for a folder
///   without a checkpoint, `Errc::io_error` for one that cannot be read
[[nodiscard]] Result<StartPoint> find_start(const std::string& from);

} // namespace tinkaf::train

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "examples/example_service.hpp"
#include "train/durable_run.hpp"
#include "train/start_point.hpp"

namespace tinkaf::examples {

/// Trains in a folder of its own, `name` below that of the service, and prints its headline in the
/// first step and in the last.
/// @param headline what people call it
/// @returns the weights at its end
[[nodiscard]] Result<train::StartPoint> run_and_tell(const ExampleService& service,
                                                     const std::string& name,
                                                     const std::string& headline,
                                                     train::DurableRun run);

} // namespace tinkaf::examples

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/sampling.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>

namespace tinkaf {

/// Where a stream of samples draws its requests from, one at a time and only when there is room;
/// nothing ends it.
using SampleSource = std::function<std::optional<SampleRequest>()>;

/// The same for a source that may wait: the token asks it to return, since nobody wants what it
/// would give.
using StoppableSampleSource = std::function<std::optional<SampleRequest>(const std::stop_token&)>;

/// One sample of a stream, well ended or not.
struct SampleStreamItem {
  /// Which request of the source it answers, from 0.
  std::uint64_t index = 0;

  Result<SampleResponse> result;
};

/// What a stream answers when asked for the next sample; nothing behind the last.
struct SampleStreamNext {
  std::optional<SampleStreamItem> item;
};

} // namespace tinkaf

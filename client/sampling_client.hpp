// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/future.hpp"
#include "client/sample_stream.hpp"
#include "messages/sample_stream.hpp"
#include "messages/sampling.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tinkaf {

/// Draws from one set of weights. Thread-safe; copies are the same client.
///
/// Keeps the connection of its service open as long as it lives.
class SamplingClient {
public:
  /// Asks for continuations. Calls run side by side.
  [[nodiscard]] Future<SampleResponse> sample(SampleRequest request) const;

  /// The same, field by field.
  [[nodiscard]] Future<SampleResponse> sample(ModelInput prompt, std::int32_t num_samples = 1,
                                              SamplingParams sampling_params = {}) const;

  /// Log-probability of each prompt token given those before it, in nats; the first is empty.
  [[nodiscard]] Future<std::vector<std::optional<float>>> compute_logprobs(ModelInput prompt) const;

  /// Samples for all requests of a source, handed out as they end.
  /// @param source called on a thread of the stream, one call at a time, while there is room. The
  ///   end of the stream does not wait for a call: what `source` refers to must last until it
  ///   returns, and one that waits should take a stop token and heed it
  /// @param room samples that may be under way or unread at a time; at least 1
  [[nodiscard]] SampleStream sample_stream(SampleSource source, std::size_t room = 64) const;
  [[nodiscard]] SampleStream sample_stream(StoppableSampleSource source,
                                           std::size_t room = 64) const;

  /// The name of the model below the weights.
  [[nodiscard]] Future<std::string> get_base_model() const;

private:
  friend struct ClientAccess;
  struct Impl;
  explicit SamplingClient(std::shared_ptr<const Impl> impl);

  std::shared_ptr<const Impl> impl_;
};

} // namespace tinkaf

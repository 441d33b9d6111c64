// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"
#include "messages/sampling.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "train/file_output.hpp"

namespace tinkaf::train {

/// Answers to each row of a step's batch.
using Answers = std::vector<std::vector<SampledSequence>>;

/// What a step has asked of samplers before it was trained.
struct StepSamples {
  /// Counted from 0.
  std::size_t step = 0;

  /// What the model in training has answered, if it was asked; each with its log-probabilities.
  Answers answers;

  /// Log-probabilities of another model, in nats: one vector for each text that it was given.
  std::vector<std::vector<float>> scores;

  friend bool operator==(const StepSamples&, const StepSamples&) = default;
};

/// The file `samples.jsonl` of a run, a line each step:
/// `{"step": …, "answers": [[{"tokens": …, "logprobs": …, "stop_reason": …}, …], …], "scores": …}`.
///
/// Samples are not drawn alike twice at every service. A step that is asked for again finds here
/// what it was first made of, so that it becomes the same. Not for use from several threads.
class SampleFile {
public:
  /// Opens the file in a run's folder, or makes it. A line that a crash left unfinished is cut off.
  /// @returns `Errc::io_error` naming the file, and the line that is none of ours
  [[nodiscard]] static Result<SampleFile> open(const std::filesystem::path& folder);

  [[nodiscard]] bool has(std::size_t step) const {
    return lines_.count(step) > 0;
  }

  /// What a step was made of; absent if that was not noted. The last note counts.
  /// @returns `Errc::io_error` as `open`
  [[nodiscard]] Result<std::optional<StepSamples>> find(std::size_t step) const;

  /// Notes what a step is made of; safe on the disk when this returns.
  /// @returns `Errc::protocol_error` for a log-probability that is missing or not finite,
  ///   `Errc::io_error`
  [[nodiscard]] Result<void> add(const StepSamples& samples);

private:
  SampleFile(std::filesystem::path path, LineFile file);

  std::filesystem::path path_;
  LineFile file_;

  /// Where the lines of the steps begin.
  std::map<std::size_t, std::int64_t> lines_;
  std::int64_t size_ = 0;
};

/// Drops the samples of a run from a step on; does nothing where there are none. The run has no
/// `SampleFile` open.
/// @returns `Errc::io_error` naming the file
[[nodiscard]] Result<void> forget_samples(const std::filesystem::path& folder, std::size_t from);

} // namespace tinkaf::train

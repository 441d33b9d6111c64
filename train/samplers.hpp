// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/sampling_client.hpp"
#include "client/service.hpp"
#include "messages/sampling.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "journal/job_journal.hpp"
#include "train/patience.hpp"
#include "train/prompts.hpp"
#include "train/run_folder.hpp"
#include "train/step_samples.hpp"

namespace tinkaf::train {

/// How answers are drawn.
struct DrawSettings {
  /// Answers to each prompt; at least 1.
  std::int32_t group = 8;

  /// Most tokens of an answer; at least 1.
  std::int32_t max_tokens = 64;

  double temperature = 1.0;

  /// With step and row it decides what is drawn: again the same where the service repeats itself.
  std::uint64_t seed = 0;

  /// Tokens that end an answer.
  std::vector<Token> stop;
};

/// @param least answers to a prompt
/// @returns `Errc::invalid_argument` naming the setting that cannot be
[[nodiscard]] Result<void> validate(const DrawSettings& settings, std::int32_t least = 1);

/// Where a recipe that samples notes what it does.
struct SampleNotes {
  /// Opens `samples.jsonl` in the folder of a run.
  /// @returns as `SampleFile::open`
  [[nodiscard]] static Result<SampleNotes> open(const RunFolder& folder);

  std::shared_ptr<JobJournal> journal;
  SampleFile samples;
};

/// Opens weights to sample from on behalf of a job.
class Samplers {
public:
  /// @param journal of the job, which notes how many have been opened
  Samplers(Service service, std::shared_ptr<JobJournal> journal);

  /// @param model_or_path as `Service::create_sampling_client`
  [[nodiscard]] Result<SamplingClient> open(const std::string& model_or_path);

private:
  Service service_;
  std::shared_ptr<JobJournal> journal_;
  std::uint32_t opened_ = 0;
};

/// Draws answers to some prompts, side by side. A stop ends it at once.
/// @param rows indices of prompts
/// @returns for each row `group` answers, each with tokens and log-probabilities
[[nodiscard]] Result<Answers> draw(const SamplingClient& client, const std::vector<Prompt>& prompts,
                                   const std::vector<std::size_t>& rows, std::size_t step,
                                   const DrawSettings& settings, Patience& patience);

/// Log-probabilities of the tokens behind the first, in nats, asked for side by side. A stop
/// ends it at once.
/// @param texts of at least two tokens each
/// @returns one vector a text, one shorter than it
[[nodiscard]] Result<std::vector<std::vector<float>>>
score(const SamplingClient& client, const std::vector<std::vector<Token>>& texts,
      Patience& patience);

} // namespace tinkaf::train

// SPDX-License-Identifier: Apache-2.0
#include "train/samplers.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "train/client_backend.hpp"
#include "train/policy_batch.hpp"

namespace tinkaf::train {

namespace {

/// A journal leaves room for so many that it has not noted, see `open_job_model`; well below it.
constexpr std::uint32_t noted_every = 256;

/// One number of three, spread over 63 bits; by the mixing function of SplitMix64.
std::int64_t seed_of(std::uint64_t seed, std::uint64_t step, std::uint64_t row) {
  auto x = std::uint64_t{0};
  for (const auto part : {seed, step, row}) {
    x = (x ^ part) + 0x9E3779B97F4A7C15U;
    x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
    x ^= x >> 31U;
  }
  // JSON readers of other languages keep 53 bits.
  return static_cast<std::int64_t>(x >> 11U);
}

} // namespace

Result<void> validate(const DrawSettings& settings, std::int32_t least) {
  if (settings.group < least)
    return fail(Errc::invalid_argument,
                fmt::format("draw.group is {}, but must be at least {}", settings.group, least));
  if (settings.max_tokens < 1)
    return fail(Errc::invalid_argument,
                fmt::format("draw.max_tokens is {}, but must be at least 1", settings.max_tokens));
  if (!std::isfinite(settings.temperature) || settings.temperature < 0)
    return fail(
        Errc::invalid_argument,
        fmt::format("draw.temperature is {}, but must be at least 0", settings.temperature));
  return {};
}

Result<SampleNotes> SampleNotes::open(const RunFolder& folder) {
  auto samples = SampleFile::open(folder.path());
  if (!samples)
    return fail(std::move(samples.error()));
  return SampleNotes{folder.journal(), std::move(*samples)};
}

Samplers::Samplers(Service service, std::shared_ptr<JobJournal> journal)
    : service_(std::move(service)), journal_(std::move(journal)) {}

Result<SamplingClient> Samplers::open(const std::string& model_or_path) {
  auto client = service_.create_sampling_client(model_or_path);
  if (!client || ++opened_ % noted_every != 0)
    return client;
  auto record = service_.record();
  if (!record)
    return fail(std::move(record.error()));
  if (auto noted = journal_->update(*record); !noted)
    return fail(std::move(noted.error()));
  return client;
}

Result<Answers> draw(const SamplingClient& client, const std::vector<Prompt>& prompts,
                     const std::vector<std::size_t>& rows, std::size_t step,
                     const DrawSettings& settings, Patience& patience) {
  auto params = SamplingParams{};
  params.max_tokens = settings.max_tokens;
  params.temperature = settings.temperature;
  if (!settings.stop.empty())
    params.stop = settings.stop;
  auto under_way = std::vector<Pending<SampleResponse>>{};
  for (const auto row : rows) {
    params.seed = seed_of(settings.seed, step, row);
    under_way.push_back(
        pending(client.sample(ModelInput::from_ints(prompts[row].tokens), settings.group, params)));
  }
  auto result = Answers{};
  for (const auto& one : under_way) {
    auto response = patience.wait_unless_stopped(one);
    if (!response)
      return fail(std::move(response.error()));
    if (response->sequences.size() != static_cast<std::size_t>(settings.group))
      return fail(Errc::protocol_error, fmt::format("{} answers were asked for, but {} came back",
                                                    settings.group, response->sequences.size()));
    for (const auto& answer : response->sequences)
      if (auto good = check_answer(answer); !good)
        return fail(std::move(good.error()));
    result.push_back(std::move(response->sequences));
  }
  return result;
}

Result<std::vector<std::vector<float>>> score(const SamplingClient& client,
                                              const std::vector<std::vector<Token>>& texts,
                                              Patience& patience) {
  using Logprobs = std::vector<std::optional<float>>;
  auto under_way = std::vector<Pending<Logprobs>>{};
  under_way.reserve(texts.size());
  for (const auto& text : texts)
    under_way.push_back(pending(client.compute_logprobs(ModelInput::from_ints(text))));
  auto result = std::vector<std::vector<float>>{};
  for (std::size_t index = 0; index < texts.size(); ++index) {
    auto logprobs = patience.wait_unless_stopped(under_way[index]);
    if (!logprobs)
      return fail(std::move(logprobs.error()));
    auto& values = result.emplace_back();
    for (std::size_t at = 1; at < logprobs->size() && (*logprobs)[at]; ++at)
      values.push_back(*(*logprobs)[at]);
    if (values.size() + 1 != texts[index].size())
      return fail(Errc::protocol_error,
                  fmt::format("log-probabilities of {} tokens were asked for, but {} came back",
                              texts[index].size() - 1, values.size()));
  }
  return result;
}

} // namespace tinkaf::train

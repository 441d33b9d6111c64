// SPDX-License-Identifier: Apache-2.0
#include "api/wire/protobuf.hpp"
#include "api/wire/protobuf_bytes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace tinkaf::wire {

namespace {

using PromptLogprobs = std::vector<std::optional<float>>;
using TopkRow = std::optional<std::vector<TokenLogprob>>;

constexpr std::string_view what = "sample result";

/// What stands in a cell of the top-k table that holds nothing.
constexpr TokenLogprob empty_cell{0, -99'999.0F};

template <class... Args>
tl::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) {
  return fail(Errc::protocol_error,
              fmt::format("{}: {}", what, fmt::format(format, std::forward<Args>(args)...)));
}

// --- writing
// --------------------------------------------------------------------------------------

std::string with_nan(const PromptLogprobs& logprobs) {
  std::vector<float> flat;
  flat.reserve(logprobs.size());
  for (auto x : logprobs)
    flat.push_back(x.value_or(std::numeric_limits<float>::quiet_NaN()));
  return to_bytes(flat);
}

void write_topk(const std::vector<TopkRow>& rows, proto::TopkPromptLogprobs& out) {
  std::size_t k = 0;
  for (const auto& row : rows)
    k = std::max(k, row ? row->size() : 0);
  std::vector<Token> tokens;
  std::vector<float> logprobs;
  tokens.reserve(rows.size() * k);
  logprobs.reserve(rows.size() * k);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < k; ++i) {
      const auto& [token, logprob] = row && i < row->size() ? (*row)[i] : empty_cell;
      tokens.push_back(token);
      logprobs.push_back(logprob);
    }
  out.set_token_ids(to_bytes(tokens));
  out.set_logprobs(to_bytes(logprobs));
  out.set_k(static_cast<std::uint32_t>(k));
  out.set_prompt_length(static_cast<std::uint32_t>(rows.size()));
}

// --- reading
// --------------------------------------------------------------------------------------

Result<SampledSequence> read_sequence(const proto::SampledSequence& in, int index) {
  SampledSequence out;
  switch (in.stop_reason()) {
  case proto::STOP_REASON_STOP:
    out.stop_reason = StopReason::stop;
    break;
  case proto::STOP_REASON_LENGTH:
    out.stop_reason = StopReason::length;
    break;
  default:
    return refuse("`sequences[{}].stop_reason` is {}, but must be 0 or 1", index,
                  static_cast<int>(in.stop_reason()));
  }
  auto tokens = from_bytes<Token>(in.tokens());
  if (!tokens)
    return refuse("`sequences[{}].tokens` has {} bytes, which is no multiple of 4", index,
                  in.tokens().size());
  out.tokens = std::move(*tokens);
  if (in.logprobs().empty())
    return out;
  auto logprobs = from_bytes<float>(in.logprobs());
  if (!logprobs)
    return refuse("`sequences[{}].logprobs` has {} bytes, which is no multiple of 4", index,
                  in.logprobs().size());
  out.logprobs = std::move(*logprobs);
  return out;
}

Result<std::vector<TopkRow>> read_topk(const proto::TopkPromptLogprobs& in) {
  auto tokens = from_bytes<Token>(in.token_ids());
  auto logprobs = from_bytes<float>(in.logprobs());
  auto cells = std::uint64_t{in.k()} * in.prompt_length();
  if (!tokens || !logprobs || tokens->size() != cells || logprobs->size() != cells)
    return refuse("`topk_prompt_logprobs` has {} and {} bytes for {} rows of {}",
                  in.token_ids().size(), in.logprobs().size(), in.prompt_length(), in.k());
  std::vector<TopkRow> rows(in.prompt_length());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    std::vector<TokenLogprob> entries;
    for (std::size_t i = row * in.k(); i < (row + 1) * in.k(); ++i)
      entries.emplace_back((*tokens)[i], (*logprobs)[i]);
    if (entries.front() == empty_cell)
      continue;
    while (entries.back() == empty_cell)
      entries.pop_back();
    rows[row] = std::move(entries);
  }
  return rows;
}

} // namespace

Result<std::string> to_protobuf(const SampleResponse& response) {
  proto::SampleResponse out;
  for (const auto& sequence : response.sequences) {
    auto& entry = *out.add_sequences();
    entry.set_stop_reason(sequence.stop_reason == StopReason::stop ? proto::STOP_REASON_STOP
                                                                   : proto::STOP_REASON_LENGTH);
    entry.set_tokens(to_bytes(sequence.tokens));
    if (sequence.logprobs)
      entry.set_logprobs(to_bytes(*sequence.logprobs));
  }
  if (response.prompt_logprobs)
    out.set_prompt_logprobs(with_nan(*response.prompt_logprobs));
  if (response.topk_prompt_logprobs)
    write_topk(*response.topk_prompt_logprobs, *out.mutable_topk_prompt_logprobs());
  out.set_prompt_cache_hit_tokens(response.prompt_cache_hit_tokens);
  return serialize(out, what);
}

Result<SampleResponse> sample_response_from_protobuf(std::string_view bytes) {
  proto::SampleResponse in;
  if (!parse(in, bytes))
    return refuse("the body is not a protobuf message of this kind");
  SampleResponse out{.prompt_cache_hit_tokens = in.prompt_cache_hit_tokens()};
  for (int i = 0; i < in.sequences_size(); ++i) {
    auto sequence = read_sequence(in.sequences(i), i);
    if (!sequence)
      return fail(std::move(sequence.error()));
    out.sequences.push_back(std::move(*sequence));
  }
  if (!in.prompt_logprobs().empty()) {
    auto logprobs = from_bytes<float>(in.prompt_logprobs());
    if (!logprobs)
      return refuse("`prompt_logprobs` has {} bytes, which is no multiple of 4",
                    in.prompt_logprobs().size());
    auto& list = out.prompt_logprobs.emplace();
    for (auto x : *logprobs)
      list.push_back(std::isnan(x) ? std::nullopt : std::optional{x});
  }
  if (in.topk_prompt_logprobs().k() != 0 && in.topk_prompt_logprobs().prompt_length() != 0) {
    auto rows = read_topk(in.topk_prompt_logprobs());
    if (!rows)
      return fail(std::move(rows.error()));
    out.topk_prompt_logprobs = std::move(*rows);
  }
  return out;
}

} // namespace tinkaf::wire

// SPDX-License-Identifier: Apache-2.0
#include "engine/cost.hpp"

#include <fmt/format.h>

namespace tinkaf {

namespace {

Result<std::int64_t> count(const Batch& batch, const char* field) {
  if (!batch)
    return 0;
  auto tokens = token_count(*batch);
  if (!tokens)
    return fail(tokens.error().code, fmt::format("{}: {}", field, tokens.error().message));
  return tokens;
}

Result<TokenPasses> forward_passes(const Batch& batch, const char* field, ForwardRate rate) {
  auto tokens = count(batch, field);
  if (!tokens)
    return fail(std::move(tokens.error()));
  return rate == ForwardRate::train ? TokenPasses{.train = *tokens}
                                    : TokenPasses{.prefill = *tokens};
}

struct Counter {
  ForwardRate forwards;

  Result<TokenPasses> operator()(const TrainOp& op) const {
    auto tokens = count(op.datums, "datums");
    if (!tokens)
      return fail(std::move(tokens.error()));
    return TokenPasses{.train = *tokens * passes(op.loss)};
  }

  Result<TokenPasses> operator()(const ScoreOp& op) const {
    return forward_passes(op.datums, "datums", forwards);
  }

  Result<TokenPasses> operator()(const SnapshotOp& op) const {
    return forward_passes(op.eval, "eval", forwards);
  }
};

} // namespace

Result<std::int64_t> token_count(const std::vector<Datum>& datums) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < datums.size(); ++i) {
    auto tokens = length(datums[i].model_input);
    if (!tokens)
      return fail(tokens.error().code,
                  fmt::format("data[{}].model_input: {}", i, tokens.error().message));
    sum += *tokens;
  }
  return sum;
}

Result<TokenPasses> token_passes(const Op& op, ForwardRate forwards) {
  return std::visit(Counter{forwards}, op);
}

Result<TokenPasses> token_passes(const Schedule& schedule, ForwardRate forwards) {
  TokenPasses sum;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    auto tokens = token_passes(schedule[i], forwards);
    if (!tokens)
      return fail(tokens.error().code, fmt::format("schedule[{}].{}", i, tokens.error().message));
    sum += *tokens;
  }
  return sum;
}

double cost(const TokenPasses& tokens, const Price& price) noexcept {
  constexpr auto million = 1e6;
  return (static_cast<double>(tokens.train) * price.train
          + static_cast<double>(tokens.prefill) * price.prefill)
         / million;
}

Result<double> projection(const Schedule& schedule, const Price& price, ForwardRate forwards) {
  if (auto valid = validate(price); !valid)
    return fail(std::move(valid.error()));
  auto tokens = token_passes(schedule, forwards);
  if (!tokens)
    return fail(std::move(tokens.error()));
  return cost(*tokens, price);
}

} // namespace tinkaf

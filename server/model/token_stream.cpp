// SPDX-License-Identifier: Apache-2.0
#include "server/model/token_stream.hpp"

#include "server/model/random.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tinkaf::model {

namespace {

constexpr std::size_t held_out_every = 50;

} // namespace

TokenStream make_stream(std::vector<Document> documents, const text::Tokenizer& tokenizer,
                        std::int32_t separator, std::uint64_t seed) {
  Random random{seed};
  for (std::size_t i = documents.size(); i > 1; --i)
    std::swap(documents[i - 1], documents[random.below(i)]);
  TokenStream out;
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const auto tokens = tokenizer.encode(documents[i].text);
    auto* to = &out.training;
    if (i % held_out_every == 0) {
      auto& held = out.held_out[documents[i].source];
      held.bytes += documents[i].text.size();
      to = &held.tokens;
    }
    to->insert(to->end(), tokens.begin(), tokens.end());
    to->push_back(separator);
  }
  return out;
}

std::vector<std::span<const std::int32_t>> windows_of_step(std::span<const std::int32_t> stream,
                                                           std::size_t step, std::size_t count,
                                                           std::size_t length, std::uint64_t seed) {
  std::vector<std::span<const std::int32_t>> out;
  // Each pass over the stream cuts it at other places and takes the windows in another order.
  const auto per_pass = stream.size() / (length + 1) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto index = step * count + i;
    const auto pass = index / per_pass;
    Random random{mix(seed, pass)};
    const auto shift = random.below(length);
    // Stepping by a number without common factor visits every window once.
    auto stride = per_pass / 2 + random.below(per_pass / 4 + 1);
    while (std::gcd(stride, per_pass) != 1)
      ++stride;
    const auto window = (index % per_pass) * stride % per_pass;
    out.push_back(stream.subspan(shift + window * (length + 1), length + 1));
  }
  return out;
}

} // namespace tinkaf::model

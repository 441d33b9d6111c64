// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/model/corpus.hpp"
#include "text/tokenizer.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tinkaf::model {

/// Texts as tokens: one long run to train on, and what is held out, by source.
struct TokenStream {
  struct HeldOut {
    std::vector<std::int32_t> tokens;
    std::size_t bytes = 0; ///< of the texts; separators count nothing
  };

  std::vector<std::int32_t> training;
  std::map<std::string, HeldOut> held_out;
};

/// Shuffles the documents and holds out every fiftieth. A separator ends each document.
[[nodiscard]] TokenStream make_stream(std::vector<Document> documents,
                                      const text::Tokenizer& tokenizer, std::int32_t separator,
                                      std::uint64_t seed);

/// The windows of one training step, each `length` tokens and the one after; they depend on
/// nothing but seed and step, so a run can be resumed.
[[nodiscard]] std::vector<std::span<const std::int32_t>>
windows_of_step(std::span<const std::int32_t> stream, std::size_t step, std::size_t count,
                std::size_t length, std::uint64_t seed);

} // namespace tinkaf::model

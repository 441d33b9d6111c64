// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>

namespace tinkaf {

/// What a million tokens cost, in USD; each a number from 0 on.
struct Price {
  /// Tokens that are read.
  double prefill = 0.0;

  /// Tokens that are read and were read before.
  double cached_prefill = 0.0;

  /// Tokens that are drawn.
  double sample = 0.0;

  /// Tokens that are trained on, each pass.
  double train = 0.0;

  friend bool operator==(const Price&, const Price&) = default;
};

/// Checks every field; the error names the first bad one and its value.
[[nodiscard]] Result<void> validate(const Price& price);

/// Prices of one day, by model. They change: look at `date` before you trust them.
struct PriceTable {
  /// Day of the prices, "YYYY-MM-DD".
  std::string date;

  /// Where they come from, in words.
  std::string source;

  /// By the model's name without its owner, for example "Qwen3-8B"; a longer context is a model of
  /// its own, "Qwen3.8-27B:peft:262144". Change or add entries as you like.
  std::map<std::string, Price> models;

  /// The price of a model, by its name with or without an owner ("Qwen/Qwen3-8B").
  /// @returns `Errc::not_found` naming the model, the day of the table, and the names that are like
  ///   it
  [[nodiscard]] Result<Price> of(std::string_view model) const;
};

/// Reads a table: `{"date": …, "source": …, "usd_per_million_tokens": {MODEL: {"prefill": …,
/// "cached_prefill": …, "sample": …, "train": …}}}`. Without `cached_prefill` it is as `prefill`.
/// `data/prices.json` is one.
/// @returns `Errc::io_error` naming the file, `Errc::invalid_argument` naming file and field
[[nodiscard]] Result<PriceTable> read_prices(const std::filesystem::path& file);

/// Reads the text of such a file.
/// @param name what to call it in errors
[[nodiscard]] Result<PriceTable> parse_prices(std::string_view json, std::string_view name);

} // namespace tinkaf

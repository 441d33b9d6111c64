// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/datum.hpp"
#include "messages/training.hpp"
#include "test/catch.hpp"

#include <rapidjson/document.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tinkaf::model {

/// The numeric cases that all parts are held against.
inline const rapidjson::Document& numeric_cases() {
  static const auto document = [] {
    std::ifstream in{std::filesystem::path{TINKAF_TEST_DATA} / "loss-cases.json"};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    rapidjson::Document out;
    out.Parse(text.data(), text.size());
    REQUIRE_FALSE(out.HasParseError());
    return out;
  }();
  return document;
}

template <class T>
std::vector<T> numbers(const rapidjson::Value& list) {
  std::vector<T> out;
  for (const auto& x : list.GetArray())
    out.push_back(static_cast<T>(x.IsDouble() ? x.GetDouble() : static_cast<double>(x.GetInt64())));
  return out;
}

/// Cases are computed in double precision, from inputs that float32 holds exactly.
inline auto nearly(double expected) {
  return Catch::Approx(expected).epsilon(1e-6).margin(1e-6);
}

inline std::optional<LossFnConfig> config_of(const rapidjson::Value& x) {
  if (x.IsNull())
    return std::nullopt;
  LossFnConfig out;
  for (const auto& entry : x.GetObject())
    out[entry.name.GetString()] = entry.value.GetDouble();
  return out;
}

inline TensorData tensor_of(const rapidjson::Value& x) {
  auto shape = numbers<std::int64_t>(x["shape"]);
  if (std::string{x["dtype"].GetString()} == "int64")
    return TensorData::of(numbers<std::int64_t>(x["data"]), std::move(shape));
  if (!x.HasMember("values"))
    return TensorData::of(numbers<float>(x["data"]), std::move(shape));
  TensorData out;
  out.data = numbers<float>(x["values"]);
  out.shape = std::move(shape);
  out.sparse = CsrIndices{numbers<std::int64_t>(x["crow_indices"]),
                          numbers<std::int64_t>(x["col_indices"])};
  return out;
}

/// A datum without an input.
inline Datum datum_of_case(const rapidjson::Value& inputs) {
  Datum out;
  for (const auto& entry : inputs.GetObject())
    out.loss_fn_inputs[entry.name.GetString()] = tensor_of(entry.value);
  return out;
}

} // namespace tinkaf::model

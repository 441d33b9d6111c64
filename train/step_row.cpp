// SPDX-License-Identifier: Apache-2.0
#include "train/step_row.hpp"

#include <algorithm>
#include <limits>

#include "train/json_writer.hpp"

namespace tinkaf::train {

double StepRow::value(const std::string& name) const {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const auto& column) { return column.first == name; });
  if (found == columns.end())
    return std::numeric_limits<double>::quiet_NaN();
  return std::visit([](auto number) { return static_cast<double>(number); }, found->second);
}

std::string to_json(const StepRow& row) {
  auto json = JsonWriter{};
  json.add("step", static_cast<std::int64_t>(row.step));
  json.add("epoch", static_cast<std::int64_t>(row.epoch));
  for (const auto& [name, value] : row.columns)
    std::visit([&, &column = name](auto number) { json.add(column, number); }, value);
  return json.take();
}

} // namespace tinkaf::train

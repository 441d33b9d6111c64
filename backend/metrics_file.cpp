// SPDX-License-Identifier: Apache-2.0
#include "backend/metrics_file.hpp"

#include <utility>

#include "train/json_writer.hpp"

namespace tinkaf {

MetricsFile::MetricsFile(train::LineFile file) : file_(std::move(file)) {}

Result<MetricsFile> MetricsFile::open(const std::filesystem::path& folder) {
  auto file = train::LineFile::open(folder / "metrics.jsonl");
  if (!file)
    return fail(std::move(file.error()));
  return MetricsFile{std::move(*file)};
}

Result<void> MetricsFile::append(std::int64_t step, const Metrics& metrics) {
  return file_.append(metrics_json(step, metrics));
}

std::string metrics_json(std::int64_t step, const Metrics& metrics) {
  train::JsonWriter writer;
  writer.add("step", step);
  for (const auto& [name, value] : metrics)
    if (name != "step")
      writer.add(name, value);
  return writer.take();
}

} // namespace tinkaf

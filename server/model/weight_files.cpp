// SPDX-License-Identifier: Apache-2.0
#include "server/model/weight_files.hpp"

#include "server/model/json_fields.hpp"

#include <fmt/format.h>

#include <set>
#include <utility>

namespace tinkaf::model {

namespace fs = std::filesystem;

namespace {

constexpr const char* single_file = "model.safetensors";
constexpr const char* index_file = "model.safetensors.index.json";

/// Names of the files that an index lists. A name with a folder in it could lead anywhere.
Result<std::set<std::string>> listed_files(const fs::path& index) {
  auto fields = JsonFields::read(index);
  if (!fields)
    return fail(fields.error());
  std::set<std::string> out;
  for (const auto& [tensor, file] : fields->strings("weight_map")) {
    if (file.empty() || file == "." || file == ".." || fs::path{file}.filename() != file)
      fields->bad("weight_map", fmt::format("\"{}\" must be the name of a file beside it", file));
    out.insert(file);
  }
  if (out.empty())
    fields->bad("weight_map", "names no file");
  if (auto good = fields->check(); !good)
    return fail(good.error());
  return out;
}

} // namespace

Result<WeightFiles> WeightFiles::open(const fs::path& folder) {
  std::set<std::string> names{single_file};
  std::error_code ignored;
  if (!fs::exists(folder / single_file, ignored) && fs::exists(folder / index_file, ignored)) {
    auto listed = listed_files(folder / index_file);
    if (!listed)
      return fail(listed.error());
    names = std::move(*listed);
  }
  WeightFiles out;
  out.folder_ = folder;
  for (const auto& name : names) {
    auto file = SafetensorsReader::open(folder / name);
    if (!file)
      return fail(file.error());
    for (const auto& [tensor, entry] : file->entries())
      if (!out.owner_.emplace(tensor, out.files_.size()).second)
        return fail(Errc::invalid_argument, fmt::format("{}: tensor \"{}\" is in another file, too",
                                                        (folder / name).string(), tensor));
    out.files_.push_back(std::move(*file));
  }
  return out;
}

Result<const SafetensorsReader*> WeightFiles::file_of(const std::string& tensor) const {
  const auto found = owner_.find(tensor);
  if (found == owner_.end())
    return fail(Errc::invalid_argument,
                fmt::format("{}: tensor \"{}\" is missing",
                            files_.size() == 1 ? files_.front().path().string() : folder_.string(),
                            tensor));
  return &files_[found->second];
}

std::vector<std::string> WeightFiles::tensors() const {
  std::vector<std::string> out;
  for (const auto& [tensor, file] : owner_)
    out.push_back(tensor);
  return out;
}

double WeightFiles::elements() const {
  double out = 0;
  for (const auto& file : files_)
    for (const auto& [tensor, entry] : file.entries())
      out += static_cast<double>(entry.elements);
  return out;
}

} // namespace tinkaf::model

// SPDX-License-Identifier: Apache-2.0
#include "cli/resources.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <system_error>

namespace tinkaf::cli {

namespace fs = std::filesystem;

namespace {

std::vector<fs::path> share_folders() {
  if (const auto* given = std::getenv("TINKAF_SHARE_DIR"); given != nullptr && *given != '\0')
    return {given};
  auto result = std::vector<fs::path>{};
  auto failed = std::error_code{};
  const auto program = fs::read_symlink("/proc/self/exe", failed);
  if (!failed)
    result.push_back(program.parent_path().parent_path() / "share" / "tinkaf");
  result.emplace_back(TINKAF_SOURCE_DIR);
  return result;
}

} // namespace

Result<fs::path> find_resource(std::string_view name) {
  auto searched = std::string{};
  auto failed = std::error_code{};
  for (const auto& folder : share_folders()) {
    auto path = folder / name;
    if (fs::exists(path, failed))
      return path;
    searched += (searched.empty() ? "" : ", ") + folder.string();
  }
  return fail(Errc::io_error, fmt::format("{} is in none of these folders: {}; set "
                                          "TINKAF_SHARE_DIR to the folder that holds it",
                                          name, searched));
}

Result<std::vector<ServedModel>> local_models(const fs::path& model_dir) {
  auto failed = std::error_code{};
  if (!model_dir.empty()) {
    if (!fs::exists(model_dir / "config.json", failed))
      return fail(Errc::io_error,
                  fmt::format("no model in {}: config.json is missing", model_dir.string()));
    return std::vector<ServedModel>{{"", model_dir}};
  }
  auto tiny = find_resource("models/tiny");
  if (!tiny)
    return fail(tiny.error());
  return std::vector<ServedModel>{{"", *tiny}};
}

Result<ServedModel> named_model(std::string_view text) {
  const auto sign = text.find('=');
  if (sign == 0 || sign == std::string_view::npos || sign + 1 == text.size())
    return fail(
        Errc::invalid_argument,
        fmt::format("--model is `{}`, must be NAME=DIR, for example `qwen=models/Qwen3-0.6B`",
                    text));
  auto models = local_models(fs::path{text.substr(sign + 1)});
  if (!models)
    return fail(models.error());
  models->front().name = text.substr(0, sign);
  return models->front();
}

std::string program_path() {
  auto failed = std::error_code{};
  const auto program = fs::read_symlink("/proc/self/exe", failed);
  if (failed)
    return "tinkaf";
  const auto near = fs::proximate(program, failed).string();
  if (failed || near.starts_with(".."))
    return program.string();
  return near.find('/') == std::string::npos ? "./" + near : near;
}

} // namespace tinkaf::cli

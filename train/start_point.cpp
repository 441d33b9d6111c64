// SPDX-License-Identifier: Apache-2.0
#include "train/start_point.hpp"

#include "messages/tinker_path.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include "train/row_reader.hpp"

namespace tinkaf::train {

namespace {

constexpr std::string_view scheme = "tinker://";

Result<StartPoint> start_at(const std::string& text) {
  auto path = TinkerPath::parse(text);
  if (!path)
    return fail(std::move(path.error()));
  if (path->kind != CheckpointKind::training)
    return fail(
        Errc::invalid_argument,
        fmt::format("{} is to sample from; training begins from a tinker://…/weights/… path",
                    text));
  return StartPoint{text, {}};
}

} // namespace

Result<StartPoint> find_start(const std::string& from) {
  if (from.starts_with(scheme))
    return start_at(from);
  const auto file = std::filesystem::path{from} / "checkpoints.jsonl";
  auto stream = std::ifstream{file};
  if (!stream)
    return fail(Errc::not_found,
                fmt::format("{} is no folder of a run: it has no checkpoints.jsonl", from));
  auto result = StartPoint{};
  for (auto line = std::string{}; std::getline(stream, line);) {
    const auto row = read_checkpoint_row(line);
    if (!row && stream.eof())
      break; // a line that is not finished
    if (!row)
      return fail(Errc::io_error, fmt::format("{} holds what is no checkpoint", file.string()));
    if (!row->state_path.empty())
      result = {row->state_path, row->sampler_path};
  }
  if (result.state_path.empty())
    return fail(Errc::not_found,
                fmt::format("the run in {} has no checkpoint to begin from yet", from));
  return result;
}

} // namespace tinkaf::train

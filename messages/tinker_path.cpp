// SPDX-License-Identifier: Apache-2.0
#include "messages/tinker_path.hpp"

#include <fmt/format.h>

namespace tinkaf {

namespace {

constexpr std::string_view prefix = "tinker://";

auto malformed(std::string_view text, std::string_view reason) {
  return fail(Errc::invalid_argument,
              fmt::format("`{}` is not a checkpoint path: {}; expected "
                          "tinker://<run>/weights/<name> or tinker://<run>/sampler_weights/<name>",
                          text, reason));
}

} // namespace

Result<TinkerPath> TinkerPath::parse(std::string_view text) {
  if (!text.starts_with(prefix))
    return malformed(text, "it does not begin with tinker://");
  auto rest = text.substr(prefix.size());
  auto first = rest.find('/');
  auto second = first == std::string_view::npos ? first : rest.find('/', first + 1);
  if (second == std::string_view::npos || rest.find('/', second + 1) != std::string_view::npos)
    return malformed(text, "it does not have three parts");
  auto run = rest.substr(0, first);
  auto segment = rest.substr(first + 1, second - first - 1);
  auto name = rest.substr(second + 1);
  if (run.empty() || name.empty())
    return malformed(text, "a part is empty");
  const auto kind = checkpoint_kind_of(segment);
  if (!kind)
    return malformed(text, fmt::format("`{}` is not a kind of checkpoint", segment));
  return TinkerPath{
      .training_run_id = std::string{run},
      .kind = *kind,
      .name = std::string{name},
  };
}

std::string TinkerPath::checkpoint_id() const {
  return fmt::format("{}/{}", to_string(kind), name);
}

std::string TinkerPath::str() const {
  return fmt::format("{}{}/{}", prefix, training_run_id, checkpoint_id());
}

const char* to_string(CheckpointKind kind) noexcept {
  switch (kind) {
  case CheckpointKind::training:
    return "weights";
  case CheckpointKind::sampler:
    return "sampler_weights";
  case CheckpointKind::external:
    return "external_weights";
  }
  return "";
}

std::optional<CheckpointKind> checkpoint_kind_of(std::string_view text) noexcept {
  for (const auto kind :
       {CheckpointKind::training, CheckpointKind::sampler, CheckpointKind::external})
    if (text == to_string(kind))
      return kind;
  return std::nullopt;
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "api/checkpoint_check.hpp"

#include "messages/tinker_path.hpp"

#include <fmt/format.h>

namespace tinkaf {

Result<void> check_checkpoint_name(std::string_view name) {
  if (name.empty())
    return fail(Errc::invalid_argument, "name is empty, but a checkpoint needs one");
  if (name.find('/') != std::string_view::npos)
    return fail(Errc::invalid_argument,
                fmt::format("name is `{}`, but the name of a checkpoint has no slash", name));
  return {};
}

Result<void> check_save_options(const SaveWeightsOptions& options) {
  if (options.ttl && options.ttl->count() <= 0)
    return fail(Errc::invalid_argument,
                fmt::format("ttl is {} s, but must be at least 1 s; leave it out to keep the "
                            "checkpoint",
                            options.ttl->count()));
  return {};
}

Result<void> check_sampler_save_options(const SaveWeightsOptions& options) {
  if (options.overwrite)
    return fail(Errc::invalid_argument, "overwrite is set, but a save to sample from has no such "
                                        "option; choose a name that is free");
  return check_save_options(options);
}

Result<void> check_training_path(std::string_view path, std::string_view what) {
  auto parsed = TinkerPath::parse(path);
  if (!parsed)
    return fail(std::move(parsed.error()));
  if (parsed->kind == CheckpointKind::training)
    return {};
  auto sibling = *parsed;
  sibling.kind = CheckpointKind::training;
  return fail(Errc::invalid_argument,
              fmt::format("`{}` is a checkpoint to sample from (sampler_weights), but {} needs one "
                          "to train on (weights); one of the same name would be `{}`",
                          path, what, sibling.str()));
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "cli/train_weights.hpp"

#include "messages/tinker_path.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <string_view>
#include <utility>

namespace tinkaf::cli {

namespace {

constexpr std::string_view scheme = "tinker://";

/// An error with the option that it is about before it.
Error about(const std::string& option, Error error) {
  error.message = fmt::format("{}: {}", option, error.message);
  return error;
}

Result<WeightsInfoResponse> info_of(const Connection& connection, const std::string& option,
                                    const std::string& path) {
  const auto rest = connection.service().create_rest_client();
  if (!rest)
    return fail(rest.error());
  auto info = rest->get_weights_info_by_tinker_path(path).get();
  if (!info)
    return fail(about(option, std::move(info.error())));
  return info;
}

} // namespace

Result<train::StartPoint> find_start(const TrainJob& job) {
  if (job.from.empty())
    return train::StartPoint{};
  auto start = train::find_start(job.from);
  if (!start)
    return fail(about("--from", std::move(start.error())));
  return start;
}

Result<TrainTarget> find_target(const TrainJob& job, const Connection& connection) {
  const auto start = find_start(job);
  if (!start)
    return fail(start.error());
  auto target = TrainTarget{
      connection,
      {.base_model = {},
       .from = start->state_path,
       .lora_config = {.rank = job.lora_rank, .seed = static_cast<std::int64_t>(job.settings.seed)},
       .user_metadata = {{renderer_field, usual_renderer}}},
      start->sampler_path,
      job.settings};
  if (!start->state_path.empty()) {
    const auto info = info_of(connection, "--from", start->state_path);
    // A run that has begun no longer needs them.
    if (!info && !std::filesystem::exists(job.out / "journal.sqlite"))
      return fail(info.error());
    if (info) {
      if (auto fits = connection.check_asked_for(info->base_model); !fits)
        return fail(Errc::invalid_argument, fmt::format("--from {} is of another base model: {}",
                                                        job.from, fits.error().message));
      if (job.lora_rank_given && info->lora_rank && *info->lora_rank != job.lora_rank)
        return fail(Errc::invalid_argument,
                    fmt::format("--from {} has the rank {}, but --lora-rank is {}: leave it out",
                                job.from, *info->lora_rank, job.lora_rank));
      target.model.base_model = info->base_model;
      return target;
    }
  }
  auto model = connection.choose_model();
  if (!model)
    return fail(std::move(model.error()));
  target.model.base_model = std::move(*model);
  return target;
}

Result<std::string> find_sampler(const std::string& option, const std::string& value) {
  if (value.starts_with(scheme)) {
    const auto path = TinkerPath::parse(value);
    if (!path)
      return fail(about(option, path.error()));
    if (path->kind != CheckpointKind::sampler)
      return fail(Errc::invalid_argument,
                  fmt::format("{}: {} is to train on; this takes a tinker://…/sampler_weights/… "
                              "path",
                              option, value));
    return value;
  }
  if (!std::filesystem::is_directory(value))
    return value; // a base model
  auto start = train::find_start(value);
  if (!start)
    return fail(about(option, std::move(start.error())));
  if (start->sampler_path.empty())
    return fail(Errc::not_found,
                fmt::format("{}: the last checkpoint of the run in {} is only to go on from, "
                            "finish that run first",
                            option, value));
  return start->sampler_path;
}

Result<std::string> base_model_of(const Connection& connection, const std::string& option,
                                  const std::string& sampler) {
  if (!sampler.starts_with(scheme)) {
    if (auto offered = connection.check_offered(sampler); !offered)
      return fail(about(option, std::move(offered.error())));
    return sampler;
  }
  auto info = info_of(connection, option, sampler);
  if (!info)
    return fail(std::move(info.error()));
  return info->base_model;
}

} // namespace tinkaf::cli

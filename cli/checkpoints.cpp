// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_rest.hpp"
#include "cli/checkpoint_deletion.hpp"
#include "cli/checkpoint_import.hpp"
#include "cli/limits.hpp"
#include "cli/progress.hpp"
#include "cli/storage_group.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

namespace tinkaf::cli {

namespace {

constexpr std::int64_t page_size = 1'000;

struct CheckpointArguments {
  ServiceArguments service;
  std::string training_run_id;
  std::size_t limit = 0;
  std::string path;
  std::optional<std::int64_t> ttl;
  bool remove_ttl = false;
  std::filesystem::path output = ".";
  bool force = false;
  DeletionArguments deletion;
  ImportArguments import;
};

const char* type_name(CheckpointKind kind) {
  switch (kind) {
  case CheckpointKind::training:
    return "training";
  case CheckpointKind::sampler:
    return "sampler";
  case CheckpointKind::external:
    break;
  }
  return "external";
}

std::vector<std::string> row_of(const Checkpoint& checkpoint) {
  return {checkpoint.checkpoint_id,
          type_name(checkpoint.checkpoint_type),
          size_text(checkpoint.size_bytes),
          yes_no(checkpoint.is_public),
          time_text(checkpoint.time, now()),
          checkpoint.expires_at ? time_text(checkpoint.expires_at, now()) : "Never",
          checkpoint.tinker_path};
}

/// The checkpoints to list, and how many there are in all.
Result<std::pair<std::vector<Checkpoint>, std::int64_t>> fetch(const CheckpointArguments& arguments,
                                                               const StorageCall& call) {
  if (arguments.training_run_id.empty()) {
    auto walk = call.rest.all_user_checkpoints({.limit = page_limit(arguments.limit, page_size)});
    auto found = walk.all(arguments.limit);
    if (!found)
      return fail(std::move(found.error()));
    auto count = static_cast<std::int64_t>(found->size());
    return std::pair{std::move(*found), std::max(count, walk.total_count().value_or(0))};
  }
  auto all = wait(call.rest.list_checkpoints(arguments.training_run_id), call.stop);
  if (!all)
    return fail(std::move(all.error()));
  auto count = static_cast<std::int64_t>(all->checkpoints.size());
  if (arguments.limit != 0 && all->checkpoints.size() > arguments.limit)
    all->checkpoints.resize(arguments.limit);
  return std::pair{std::move(all->checkpoints), count};
}

Result<void> list(const CheckpointArguments& arguments, const StorageCall& call) {
  const auto found = fetch(arguments, call);
  if (!found)
    return fail(found.error());
  const auto& [checkpoints, total] = *found;
  if (call.format == OutputFormat::json) {
    auto json = std::string{"{"};
    if (!arguments.training_run_id.empty())
      json += "\"run_id\":" + json_text(arguments.training_run_id) + ",";
    json += "\"checkpoints\":";
    print_line(pretty_json(
        json + json_list(checkpoints, [](const auto& x) { return wire::to_json(x); }) + "}"));
    return {};
  }
  print_count(checkpoints.size(), "checkpoint", total);
  auto rows = std::vector<std::vector<std::string>>{};
  for (const auto& checkpoint : checkpoints)
    rows.push_back(row_of(checkpoint));
  fmt::print(
      "{}",
      table_text({"Checkpoint ID", "Type", "Size", "Public", "Created", "Expires", "Path"}, rows));
  return {};
}

Result<void> info(const CheckpointArguments& arguments, const StorageCall& call) {
  const auto path = TinkerPath::parse(arguments.path);
  if (!path)
    return fail(path.error());
  const auto all = wait(call.rest.list_checkpoints(path->training_run_id), call.stop);
  if (!all)
    return fail(all.error());
  const auto found
      = std::find_if(all->checkpoints.begin(), all->checkpoints.end(),
                     [&](const auto& x) { return x.checkpoint_id == path->checkpoint_id(); });
  if (found == all->checkpoints.end()) {
    auto sibling = *path;
    sibling.kind = path->kind == CheckpointKind::training ? CheckpointKind::sampler
                                                          : CheckpointKind::training;
    const auto other
        = std::any_of(all->checkpoints.begin(), all->checkpoints.end(),
                      [&](const auto& x) { return x.checkpoint_id == sibling.checkpoint_id(); });
    return fail(Errc::not_found,
                fmt::format("there is no checkpoint {}{}", path->str(),
                            other ? ", but there is " + sibling.str() : std::string{}));
  }
  const auto run = wait(call.rest.get_training_run(path->training_run_id), call.stop);
  if (!run)
    return fail(run.error());
  if (call.format == OutputFormat::json) {
    auto json = wire::to_json(*found);
    json.pop_back();
    json += fmt::format(",\"is_lora\":{}", run->is_lora);
    if (run->lora_rank)
      json += fmt::format(",\"lora_rank\":{}", *run->lora_rank);
    print_line(pretty_json(json + "}"));
    return {};
  }
  const auto row = row_of(*found);
  fmt::print("{}", table_text({"Property", "Value"},
                              {{"Checkpoint ID", row[0]},
                               {"Type", row[1]},
                               {"Path", row[6]},
                               {"Size", row[2]},
                               {"Public", row[3]},
                               {"Created", row[4]},
                               {"Expires", row[5]},
                               {"Training Run", run->training_run_id},
                               {"LoRA", yes_no(run->is_lora)},
                               {"LoRA Rank", run->lora_rank ? std::to_string(*run->lora_rank)
                                                            : std::string{"N/A"}}}));
  return {};
}

Result<void> done(Result<Done> result) {
  if (!result)
    return fail(std::move(result.error()));
  return {};
}

Result<void> publish(const CheckpointArguments& arguments, const StorageCall& call) {
  return done(wait(call.rest.publish_checkpoint_from_tinker_path(arguments.path), call.stop));
}

Result<void> unpublish(const CheckpointArguments& arguments, const StorageCall& call) {
  return done(wait(call.rest.unpublish_checkpoint_from_tinker_path(arguments.path), call.stop));
}

Result<void> set_ttl(const CheckpointArguments& arguments, const StorageCall& call) {
  auto ttl = std::optional<std::chrono::seconds>{};
  if (arguments.ttl)
    ttl = std::chrono::seconds{*arguments.ttl};
  return done(wait(call.rest.set_checkpoint_ttl_from_tinker_path(arguments.path, ttl), call.stop));
}

Result<void> remove(const CheckpointArguments& arguments, const StorageCall& call) {
  return delete_checkpoints(arguments.deletion, call);
}

Result<void> take_in(const CheckpointArguments& arguments, const StorageCall& call) {
  return import_checkpoint(arguments.import, call);
}

Result<void> download(const CheckpointArguments& arguments, const StorageCall& call) {
  const auto path = TinkerPath::parse(arguments.path);
  if (!path)
    return fail(path.error());
  const auto destination
      = arguments.output
        / fmt::format("{}_{}_{}", path->training_run_id, to_string(path->kind), path->name);
  auto failed = std::error_code{};
  if (!arguments.force && std::filesystem::exists(destination, failed))
    return fail(Errc::invalid_argument,
                fmt::format("{} is there already; --force replaces it, --output puts it elsewhere",
                            destination.string()));
  auto request = DownloadCheckpoint{
      .checkpoint = {path->training_run_id, path->checkpoint_id()},
      .destination = destination,
      .force = arguments.force,
  };
  const auto shown = is_terminal(stderr);
  if (shown)
    request.progress = [](const DownloadProgress& x) {
      fmt::print(stderr, "\r{} of {}\033[K", size_text(x.bytes), size_text(x.total));
    };
  const auto files = wait(call.rest.download_checkpoint(std::move(request)), call.stop);
  if (shown)
    fmt::print(stderr, "\r\033[K");
  if (!files)
    return fail(files.error());
  if (call.format == OutputFormat::json)
    print_line(pretty_json(fmt::format(
        R"({{"checkpoint_path":{},"destination":{},"file_size_bytes":{}}})",
        json_text(arguments.path), json_text(files->destination.string()), files->archive_bytes)));
  else
    print_line(fmt::format("{} files, {}, in {}", files->files, size_text(files->file_bytes),
                           files->destination.string()));
  return {};
}

} // namespace

void add_checkpoints(CLI::App& parent, Command& run, const OutputFormat& format) {
  auto group = StorageGroup{parent, "checkpoint", "Manage checkpoints", run, format};
  const auto arguments = std::make_shared<CheckpointArguments>();
  auto add = [&](const char* name, const char* text, auto act) {
    return group.add(name, text, arguments, act);
  };
  auto add_one = [&](const char* name, const char* text, auto act) {
    auto* command = add(name, text, act);
    command->add_option("PATH", arguments->path, "Its tinker:// path")->required();
    return command;
  };

  auto* all = add("list", "List checkpoints, newest first", list);
  all->add_option("--run-id", arguments->training_run_id, "Of this training run only");
  add_limit(*all, arguments->limit, "Checkpoints");
  add_one("info", "Show a checkpoint", info);
  add_one("publish", "Let anyone with an account load a checkpoint", publish);
  add_one("unpublish", "Keep a checkpoint to yourself again", unpublish);

  auto* ttl = add_one("set-ttl", "Change when a checkpoint expires", set_ttl);
  auto* choice = ttl->add_option_group("expiry");
  choice->add_option("--ttl", arguments->ttl, "Seconds from now on")->check(whole_number(1));
  choice->add_flag("--remove", arguments->remove_ttl, "Keep it for ever");
  choice->require_option(1);

  add_import_options(*add("import", "Make a checkpoint of an adapter in PEFT's layout", take_in),
                     arguments->import);
  add_deletion_options(*add("delete", "Remove checkpoints", remove), arguments->deletion);

  auto* fetched = add_one("download", "Download a checkpoint's files", download);
  fetched->add_option("-o,--output", arguments->output, "Folder to put its folder into")
      ->capture_default_str();
  fetched->add_flag("--force", arguments->force, "Replace a folder that is there");
}

} // namespace tinkaf::cli

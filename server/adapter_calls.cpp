// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json_reader.hpp"
#include "api/wire/json_writer.hpp"
#include "server/calls.hpp"
#include "server/guarded.hpp"
#include "server/http/uri.hpp"
#include "server/ids.hpp"
#include "server/replies.hpp"
#include "server/untar.hpp"

#include <fmt/format.h>

#include <cmath>

// Checkpoints that no training here has made: adapters from elsewhere, and sums of adapters.

namespace tinkaf::server::calls {

namespace {

constexpr std::size_t most_sources = 64;

/// A checkpoint to be summed up.
struct MergeSource {
  std::string path;
  double weight = 1.0;
};

struct MergeRequest {
  std::string name;
  std::vector<MergeSource> sources;
};

void describe(wire::JsonReader& v, MergeSource& x) {
  v.field("path", x.path);
  v.defaulted("weight", x.weight);
}

void describe(wire::JsonReader& v, MergeRequest& x) {
  v.field("name", x.name);
  v.field("sources", x.sources);
}

/// What is there now.
struct NewCheckpoints {
  TinkerPath training;
  TinkerPath sampler;
  std::int32_t rank = 0;
};

void describe(wire::JsonWriter& v, const NewCheckpoints& x) {
  v.field("path", x.training.str());
  v.field("sampler_path", x.sampler.str());
  v.field("training_run_id", x.training.training_run_id);
  v.field("lora_rank", x.rank);
}

/// Stores an adapter as the checkpoints of a run of its own, to train on and to sample from.
HttpReply store(ServiceCore& core, const Trainer& base, const std::string& name,
                const Result<std::unique_ptr<TrainedModel>>& made) {
  if (!made)
    return error_reply(made.error());
  const auto& adapter = *made;
  const auto config = adapter->config();
  if (config.rank > core.options.limits.max_lora_rank)
    return error_reply(400, fmt::format("the rank of the adapter is {}, but at most {} is allowed",
                                        config.rank, core.options.limits.max_lora_rank));
  const auto now = core.wall_now();
  const auto run_id = SessionTable::id_of(make_uuid(), SessionTable::Kind::model, 0);
  const NewCheckpoints out{{run_id, CheckpointKind::training, name},
                           {run_id, CheckpointKind::sampler, name},
                           config.rank};
  for (const auto& path : {out.training, out.sampler}) {
    auto saved
        = core.state->put(path, {.base_model = base.name(), .lora_config = config, .created = now},
                          [&](const auto& folder) {
                            return adapter->save(folder, path.kind == CheckpointKind::training);
                          });
    if (!saved)
      return error_reply(500, saved.error().message);
    core.audit.note("checkpoint_saved", path, now);
  }
  core.runs.add({.id = run_id,
                 .session_id = {},
                 .base_model = base.name(),
                 .lora_config = config,
                 .last_request = now});
  return HttpReply::json(200, wire::write_json(out));
}

} // namespace

HttpReply import_checkpoint(ServiceCore& core, const HttpCall& call) {
  const auto name = query_value(call.query, "name").value_or("imported");
  if (auto good = StateFolder::check_name(name); !good)
    return error_reply(good.error());
  auto base_model = query_value(call.query, "base_model").value_or(std::string{});
  if (base_model.empty() && core.trainers.size() == 1)
    base_model = core.trainers.front()->name();
  const auto base = core.trainer(base_model);
  if (!base)
    return error_reply(base.error());
  const auto folder = core.state->new_weights();
  static const std::vector<std::string> files{"adapter_config.json", "adapter_model.safetensors"};
  if (auto unpacked = untar(call.body, files, core.options.limits.max_body, *folder); !unpacked)
    return error_reply(unpacked.error());
  auto made = guarded([&] { return (*base)->import_adapter(*folder); });
  if (!made) { // clients know the files by the names that these have in the tar
    const auto where = folder->string() + "/";
    auto& text = made.error().message;
    for (auto at = text.find(where); at != std::string::npos; at = text.find(where, at))
      text.erase(at, where.size());
  }
  return store(core, **base, name, made);
}

HttpReply merge_checkpoints(ServiceCore& core, const HttpCall& call) {
  const auto request = wire::read_json<MergeRequest>(call.body, "merge_checkpoints request",
                                                     Errc::invalid_argument);
  if (!request)
    return error_reply(request.error());
  if (auto good = StateFolder::check_name(request->name); !good)
    return error_reply(good.error());
  const auto count = request->sources.size();
  if (count == 0 || count > most_sources)
    return error_reply(
        400, fmt::format("sources: must be 1 to {} checkpoints, but are {}", most_sources, count));
  std::string base_model;
  std::vector<WeightsFolder> held;
  std::vector<Trainer::Share> shares;
  for (std::size_t i = 0; i < count; ++i) {
    const auto& source = request->sources[i];
    if (!std::isfinite(source.weight))
      return error_reply(400, fmt::format("sources[{}].weight: must be finite", i));
    const auto path = TinkerPath::parse(source.path);
    if (!path)
      return error_reply(400, fmt::format("sources[{}].path: {}", i, path.error().message));
    const auto found = core.checkpoint(*path);
    if (!found)
      return error_reply(found.error());
    if (i > 0 && found->info.base_model != base_model)
      return error_reply(400, fmt::format("sources[{}].path: {} belongs to the base model `{}`, "
                                          "but the first one to `{}`",
                                          i, source.path, found->info.base_model, base_model));
    base_model = found->info.base_model;
    held.push_back(found->weights);
    shares.push_back({*found->weights, source.weight});
  }
  const auto base = core.trainer(base_model);
  if (!base)
    return error_reply(base.error());
  return store(core, **base, request->name, guarded([&] { return (*base)->merge(shares); }));
}

} // namespace tinkaf::server::calls

// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "server/guarded.hpp"
#include "server/journal/records.hpp"
#include "server/replies.hpp"
#include "server/service_core.hpp"

#include <fmt/format.h>

// The part of the core that deals with checkpoints and samplers.

namespace tinkaf::server {

namespace {

constexpr auto sampler_kind = SessionTable::Kind::sampler;

HttpReply sampler_reply(const std::string& id) {
  return HttpReply::json(200, wire::to_json(CreateSamplingSessionResponse{id}));
}

/// Tells the request id, and an id for each sequence to come: SDKs from 0.38 on want both.
HttpReply accepted_reply(const std::string& request_id, std::int64_t num_samples) {
  std::vector<std::string> sequences;
  for (std::int64_t i = 0; i < num_samples; ++i)
    sequences.push_back(fmt::format(R"("{}-{}")", request_id, i));
  return HttpReply::json(200, fmt::format(R"({{"request_id":"{}","sample_sequence_ids":[{}]}})",
                                          request_id, fmt::join(sequences, ",")));
}

} // namespace

std::string ServiceCore::name_of_save(Model& model) {
  const std::lock_guard lock{mutex_};
  std::string name;
  do
    name = fmt::format("save{}", ++model.unnumbered_saves);
  while (state->info({model.id, CheckpointKind::training, name}, wall_now()));
  return name;
}

Result<CheckpointNames::Hold> ServiceCore::take_name(const TinkerPath& path, bool overwrite) {
  if (!overwrite && state->info(path, wall_now()))
    return fail(Errc::conflict,
                fmt::format("path: the checkpoint `{}` of the model `{}` exists already; choose "
                            "another name{}",
                            path.name, path.training_run_id,
                            path.kind == CheckpointKind::training ? ", or set `overwrite`" : ""));
  auto hold = names_.take(path);
  if (!hold && !overwrite)
    return fail(Errc::conflict,
                fmt::format("path: the checkpoint `{}` of the model `{}` is being written already",
                            path.name, path.training_run_id));
  return hold; // two overwrites in a row need but one hold
}

Result<ServiceCore::FoundCheckpoint> ServiceCore::checkpoint(const std::string& text,
                                                             CheckpointKind kind) {
  const auto path = TinkerPath::parse(text);
  if (!path)
    return fail(path.error());
  if (path->kind == kind)
    return checkpoint(*path);
  auto sibling = *path;
  sibling.kind = kind;
  const bool training = kind == CheckpointKind::training;
  const char* found = path->kind == CheckpointKind::external ? "take elsewhere"
                      : training                             ? "sample from"
                                                             : "train on";
  return fail(Errc::invalid_argument,
              fmt::format("path: {} is a checkpoint to {}, but one to {} is needed{}", text, found,
                          training ? "train on" : "sample from",
                          state->info(sibling, wall_now())
                              ? ": " + sibling.str()
                              : fmt::format(" ({}/…)", to_string(kind))));
}

Result<ServiceCore::FoundCheckpoint> ServiceCore::checkpoint(const TinkerPath& path) {
  auto info = checkpoint_info(path);
  if (!info)
    return fail(std::move(info.error()));
  auto weights = state->pin(path, wall_now());
  if (!weights)
    return fail(std::move(weights.error()));
  return FoundCheckpoint{path, std::move(*info), std::move(*weights)};
}

Result<CheckpointInfo> ServiceCore::checkpoint_info(const TinkerPath& path) const {
  auto info = state->info(path, wall_now());
  if (!info && info.error().code == Errc::not_found && names_.is_taken(path))
    return fail_with(425,
                     fmt::format("path: the checkpoint {} is still being written", path.str()));
  return info;
}

void ServiceCore::free_expired() {
  const auto now = wall_now();
  archives.expire(now);
  if (state->free_expired(now) > 0)
    drop_unused_weights();
}

void ServiceCore::drop_unused_weights() {
  computing_.post("weights", [this](const std::stop_token&) { snapshots.drop_unused(); });
}

Result<void> ServiceCore::claim_sampler(const std::string& session_id, std::int64_t number,
                                        const std::string& digest) {
  if (!sessions_.touch(session_id, Clock::now()))
    return fail(Errc::not_found,
                fmt::format("session_id: there is no session `{}`, or it has ended", session_id));
  const auto* claim = sessions_.find(session_id, sampler_kind, number);
  if (claim != nullptr && claim->digest != digest)
    return fail(Errc::conflict,
                fmt::format("sampling_session_seq_id: {} was used for another request", number));
  sessions_.claim(session_id, sampler_kind, number, {digest, {}});
  return {};
}

Result<void> ServiceCore::write_sampler(std::int64_t number, const std::string& digest,
                                        const Sampler& sampler) const {
  SamplerNote note{.number = number,
                   .digest = digest,
                   .base_model = sampler.trainer->name(),
                   .model_path = sampler.model_path,
                   .version = sampler.version,
                   .run_id = sampler.run_id};
  if (sampler.kept)
    note.weights = sampler.kept->filename().string();
  return append(*sampler.log, RecordKind::sampler, note);
}

WeightsFolder ServiceCore::sampler_weights(const std::string& session_id,
                                           std::int64_t number) const {
  return state->lasting_weights(journal_.file(session_id, fmt::format("sampler-{}", number)));
}

HttpReply ServiceCore::add_sampler(std::int64_t number, const std::string& digest,
                                   Sampler sampler) {
  const std::lock_guard lock{mutex_};
  if (auto claimed = claim_sampler(sampler.session_id, number, digest); !claimed)
    return error_reply(claimed.error());
  const auto id = sampler.id;
  if (samplers_.contains(id))
    return sampler_reply(id);
  sampler.log = session_logs_.at(sampler.session_id);
  Result<void> written;
  if (sampler.weights) {
    sampler.kept = sampler_weights(sampler.session_id, number);
    written = StateFolder::link(*sampler.weights, *sampler.kept);
  }
  if (written)
    written = write_sampler(number, digest, sampler);
  if (!written)
    return error_reply(not_written(written.error()).value());
  samplers_[id] = std::make_shared<Sampler>(std::move(sampler));
  return sampler_reply(id);
}

Result<void> ServiceCore::add_claimed(std::int64_t number, const std::string& digest,
                                      Sampler sampler) {
  const std::lock_guard lock{mutex_};
  if (!sessions_.touch(sampler.session_id, Clock::now()))
    return fail(Errc::cancelled, "the session has ended");
  if (samplers_.contains(sampler.id))
    return {}; // what an earlier server has done already
  sampler.kept = sampler.weights;
  sampler.log = session_logs_.at(sampler.session_id);
  if (auto written = write_sampler(number, digest, sampler); !written)
    return written;
  const auto id = sampler.id;
  samplers_[id] = std::make_shared<Sampler>(std::move(sampler));
  return {};
}

Result<std::shared_ptr<Sampler>> ServiceCore::sampler(const std::string& id) {
  const std::lock_guard lock{mutex_};
  const auto found = samplers_.find(id);
  if (found == samplers_.end())
    return fail(Errc::not_found,
                fmt::format("sampling_session_id: there is no sampling session `{}`", id));
  sessions_.touch(found->second->session_id, Clock::now());
  return found->second;
}

HttpReply ServiceCore::submit_sample(const std::shared_ptr<Sampler>& sampler,
                                     const std::string& digest, const AsampleRequest& request) {
  const auto& seq_id = request.seq_id;
  const auto body = wire::to_json(request);
  if (!body)
    return error_reply(400, body.error().message);
  const std::lock_guard lock{mutex_};
  if (seq_id)
    if (const auto known = sampler->samples.find(*seq_id); known != sampler->samples.end()) {
      if (known->second.digest != digest)
        return error_reply(409, fmt::format("seq_id: {} was used for another sample", *seq_id));
      return accepted_reply(known->second.request_id, request.sample.num_samples);
    }
  if (unfinished_samples_ >= options.limits.max_queued_samples)
    return error_reply(429, fmt::format("{} samples wait already", unfinished_samples_.load()));
  const auto& log = sampler->log ? sampler->log : loose_log;
  auto request_id = futures.open(RequestType::sample, log);
  if (auto written
      = append(*log, RecordKind::accepted,
               RequestNote{.request_id = request_id,
                           .type = RequestType::sample,
                           .number = seq_id,
                           .digest = digest,
                           .sampler = request.sampling_session_id.value_or(std::string{})},
               *body);
      !written) {
    futures.drop(request_id);
    return error_reply(not_written(written.error()).value());
  }
  if (seq_id)
    sampler->samples[*seq_id] = {digest, request_id};
  post_sample(sampler, request_id, request.sample);
  return accepted_reply(request_id, request.sample.num_samples);
}

void ServiceCore::with_weights(const std::shared_ptr<Sampler>& sampler, WithWeights work) {
  ++unfinished_samples_;
  const auto load = [this, sampler]() -> Weights {
    if (faults->fails_operation())
      return fail(played_fault());
    if (!sampler->weights)
      return nullptr;
    return snapshots.get(*sampler->trainer, sampler->weights);
  };
  // Weights are read where models are trained, one at a time; samples are drawn side by side.
  computing_.post(sampler->id, [this, load, lane = sampler->id,
                                work = std::move(work)](const std::stop_token& loading) {
    auto weights = guarded(load);
    if (!weights) {
      --unfinished_samples_;
      work(weights, loading);
      return;
    }
    sampling_.post(lane, [this, work, weights = std::move(weights)](const std::stop_token& stop) {
      --unfinished_samples_;
      work(weights, stop);
    });
  });
}

void ServiceCore::post_sample(const std::shared_ptr<Sampler>& sampler,
                              const std::string& request_id, SampleRequest request) {
  with_weights(sampler, [this, sampler, request_id, request = std::move(request)](
                            const Weights& weights, const std::stop_token& stop) {
    const Running running{*this, request_id, RequestType::sample};
    complete(request_id, guarded([&]() -> Result<FutureValue> {
               auto drawn = draw(*sampler, weights, request, stop);
               if (!drawn)
                 return fail(std::move(drawn.error()));
               note_sample(*sampler, request, *drawn);
               return FutureValue{std::move(*drawn)};
             }),
             stop, sampler->run_id);
  });
}

Result<SampleResponse> ServiceCore::draw(const Sampler& sampler, const Weights& weights,
                                         const SampleRequest& request, std::stop_token stop,
                                         const TokenSink& sink) {
  if (!weights)
    return fail(weights.error());
  return sampler.trainer->sample(*weights, request, std::move(stop), sink);
}

void ServiceCore::note_sample(const Sampler& sampler, const SampleRequest& request,
                              const SampleResponse& response) {
  std::int64_t sampled = 0;
  for (const auto& sequence : response.sequences)
    sampled += static_cast<std::int64_t>(sequence.tokens.size());
  const auto prompt = length(request.prompt).value_or(0);
  note_usage(sampler.session_id, *sampler.trainer, UsageTable::Kind::prompt_tokens, prompt);
  (void)runs.note_tokens(sampler.run_id, {.prefill = prompt, .sample = sampled});
  note_usage(sampler.session_id, *sampler.trainer, UsageTable::Kind::sampled_tokens, sampled);
}

Result<void> ServiceCore::draw_by_turns(const std::shared_ptr<Sampler>& sampler,
                                        std::function<bool(const Draw&)> turn) {
  const std::lock_guard lock{mutex_};
  if (unfinished_samples_ >= options.limits.max_queued_samples)
    return fail_with(429, fmt::format("{} samples wait already", unfinished_samples_.load()));
  post_turn(sampler, std::move(turn));
  return {};
}

void ServiceCore::post_turn(const std::shared_ptr<Sampler>& sampler,
                            std::function<bool(const Draw&)> turn) {
  with_weights(sampler, [this, sampler, turn = std::move(turn)](const Weights& weights,
                                                                const std::stop_token& stop) {
    const Running running{*this, {}, RequestType::sample};
    const auto draw_one = [&](const SampleRequest& request, bool counted, const TokenSink& sink) {
      return guarded([&]() -> Result<SampleResponse> {
        auto drawn = draw(*sampler, weights, request, stop, sink);
        if (drawn && counted)
          note_sample(*sampler, request, *drawn);
        return drawn;
      });
    };
    if (guarded([&]() -> Result<bool> { return turn(draw_one); }).value_or(false))
      post_turn(sampler, turn);
  });
}

} // namespace tinkaf::server

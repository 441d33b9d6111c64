// SPDX-License-Identifier: Apache-2.0
#include "server/service_core.hpp"

#include "api/wire/json.hpp"
#include "server/replies.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <exception>

// Sessions, models, and what runs when. The rest of the core is in service_samplers.cpp.

namespace tinkaf::server {

namespace {

/// How often checkpoints that have expired are looked for, besides when they are listed.
constexpr std::chrono::minutes sweep_interval{1};

constexpr const char* stop_reason = "the server is stopping";

std::string lane_of(const Model& model) {
  return "model " + model.id;
}

HttpReply accepted(const std::string& request_id, const std::string& model_id) {
  return HttpReply::json(200, wire::to_json(FutureRef{request_id, model_id}));
}

/// A trainer that throws is broken, but must not take the thread with it.
Result<FutureValue> guarded(const ServiceCore::Compute& compute, std::stop_token stop) {
  auto result = [&]() -> Result<FutureValue> {
    try {
      return compute(stop);
    } catch (const std::exception& error) {
      return fail(Errc::server_error, fmt::format("the trainer broke: {}", error.what()));
    } catch (...) {
      return fail(Errc::server_error, "the trainer broke");
    }
  }();
  if (!result && stop.stop_requested())
    return fail(Errc::server_error, stop_reason);
  return result;
}

tl::unexpected<Error> no_session(const std::string& session_id) {
  return fail(Errc::not_found,
              fmt::format("session_id: there is no session `{}`, or it has ended", session_id));
}

} // namespace

ServiceCore::ServiceCore(const ServerOptions& settings, std::vector<std::shared_ptr<Trainer>> bases,
                         std::unique_ptr<StateFolder> folder)
    : options(settings), trainers(std::move(bases)), state(std::move(folder)),
      runs(*state, wall_now()), futures(settings.limits), tokens(settings.limits.token_life),
      snapshots(settings.limits.max_loaded_samplers) {}

std::string ServiceCore::create_session(SessionNotes notes) {
  const std::lock_guard lock{mutex_};
  return sessions_.create(Clock::now(), std::move(notes));
}

Result<void> ServiceCore::move_session(const std::string& session_id,
                                       const std::string& project_id) {
  if (auto known = touch(session_id); !known)
    return known;
  {
    const std::lock_guard lock{mutex_};
    sessions_.move(session_id, project_id);
  }
  runs.move(session_id, project_id);
  return {};
}

std::vector<std::string> ServiceCore::session_ids() const {
  const std::lock_guard lock{mutex_};
  return sessions_.ids();
}

Result<GetSessionResponse> ServiceCore::session(const std::string& session_id) const {
  GetSessionResponse out;
  {
    const std::lock_guard lock{mutex_};
    if (!sessions_.contains(session_id))
      return no_session(session_id);
    for (const auto& [id, sampler] : samplers_)
      if (sampler->session_id == session_id)
        out.sampler_ids.push_back(id);
  }
  for (const auto& run : runs.list())
    if (run.session_id == session_id)
      out.training_run_ids.push_back(run.id);
  return out;
}

Result<void> ServiceCore::touch(const std::string& session_id) {
  const std::lock_guard lock{mutex_};
  if (!sessions_.touch(session_id, Clock::now()))
    return no_session(session_id);
  return {};
}

Result<std::shared_ptr<Trainer>> ServiceCore::trainer(const std::string& name) const {
  const auto found = std::find_if(trainers.begin(), trainers.end(),
                                  [&](const auto& base) { return base->name() == name; });
  if (found != trainers.end())
    return *found;
  std::vector<std::string> names;
  for (const auto& base : trainers)
    names.push_back(base->name());
  return fail(Errc::invalid_argument,
              fmt::format("base_model: `{}` is not served here; there is: {}", name,
                          fmt::join(names, ", ")));
}

Result<std::shared_ptr<Model>> ServiceCore::model(const std::string& id) {
  {
    const std::lock_guard lock{mutex_};
    if (const auto found = models_.find(id); found != models_.end()) {
      sessions_.touch(found->second->session_id, Clock::now());
      runs.note_request(id, wall_now());
      return found->second;
    }
    if (const auto ended = ended_models_.find(id); ended != ended_models_.end())
      return fail(Errc::not_found,
                  fmt::format("model_id: the model `{}` is unloaded: {}", id, ended->second));
  }
  return fail(unknown_model(id));
}

Error ServiceCore::unknown_model(const std::string& id) const {
  const auto run = runs.find(id);
  if (!run)
    return {.code = Errc::not_found,
            .message = fmt::format("model_id: there is no model `{}`", id)};
  const auto stored = state->list(wall_now(), id).checkpoints;
  const auto last = std::find_if(stored.begin(), stored.end(), [](const auto& x) {
    return x.path.kind == CheckpointKind::training;
  });
  return {.code = Errc::not_found,
          .message
          = fmt::format("model_id: the model `{}` is not loaded: {}; {}", id,
                        run->damage.value_or("it was made before this server started"),
                        last == stored.end() ? std::string{"it has no checkpoint to go on from"}
                                             : "go on from " + last->path.str())};
}

HttpReply ServiceCore::add_model(const std::string& session_id, std::int64_t model_seq_id,
                                 const std::string& digest, Origin origin) {
  constexpr auto kind = SessionTable::Kind::model;
  const std::lock_guard lock{mutex_};
  if (!sessions_.touch(session_id, Clock::now()))
    return error_reply(404, fmt::format("session_id: there is no session `{}`", session_id));
  const auto id = SessionTable::id_of(session_id, kind, model_seq_id);
  if (const auto* claim = sessions_.find(session_id, kind, model_seq_id)) {
    if (claim->digest != digest)
      return error_reply(
          409, fmt::format("model_seq_id: {} was used for another request", model_seq_id));
    return accepted(claim->request_id, id);
  }
  auto model = std::make_shared<Model>(Model{
      .id = id, .session_id = session_id, .trainer = origin.trainer, .config = origin.config});
  models_[id] = model;
  auto request_id = futures.open();
  sessions_.claim(session_id, kind, model_seq_id, {digest, request_id});
  RunRecord record{.id = id,
                   .session_id = session_id,
                   .base_model = model->trainer->name(),
                   .lora_config = model->config,
                   .user_metadata = std::move(origin.user_metadata),
                   .project_id = sessions_.notes(session_id)->project_id,
                   .last_request = wall_now()};
  run(lane_of(*model), request_id,
      [this, model, record = std::move(record),
       origin = std::move(origin)](const std::stop_token&) -> Result<FutureValue> {
        model->missing = {.code = Errc::server_error,
                          .message = "the model was not made",
                          .category = ErrorCategory::server};
        auto made = origin.make(*model->trainer);
        if (!made) {
          model->missing = made.error();
          model->missing.message = "the model was not made: " + made.error().message;
          return fail(std::move(made.error()));
        }
        model->trained = std::move(*made);
        runs.add(record);
        return origin.result(model->id);
      });
  return accepted(request_id, id);
}

OperationQueue::Operation ServiceCore::ordered(const std::shared_ptr<Model>& model,
                                               Operation operation) {
  auto request_id = futures.open();
  ++model->unfinished;
  auto compute = [this, model, compute = std::move(operation.compute)](
                     std::stop_token stop) -> Result<FutureValue> {
    if (!model->trained)
      return fail(model->missing);
    try {
      return compute(*model, stop);
    } catch (...) {
      model->trained.reset();
      model->missing = {.code = Errc::server_error,
                        .message = "the model is lost since an earlier operation broke it; make a "
                                   "new one from its last checkpoint",
                        .category = ErrorCategory::server};
      runs.note_damage(model->id, "an operation broke the model");
      throw;
    }
  };
  return {request_id, [this, model, request_id, compute = std::move(compute)] {
            run(lane_of(*model), request_id, [this, model, compute](std::stop_token stop) {
              auto result = guarded(compute, stop);
              const std::lock_guard lock{mutex_};
              --model->unfinished;
              return result;
            });
          }};
}

HttpReply ServiceCore::submit(const std::shared_ptr<Model>& model,
                              std::optional<std::int64_t> seq_id, const std::string& digest,
                              Result<Operation> operation) {
  if (seq_id && *seq_id < 1)
    return error_reply(400, fmt::format("seq_id: must be at least 1, but is {}", *seq_id));
  const std::lock_guard lock{mutex_};
  if (!models_.contains(model->id))
    return error_reply(404, fmt::format("model_id: the model `{}` is unloaded", model->id));
  auto& queue = model->queue;
  if (seq_id) {
    const auto known = queue.find(*seq_id, digest);
    if (known.seen == OperationQueue::Seen::repeated)
      return known.refusal ? *known.refusal : accepted(known.request_id, model->id);
    if (known.seen == OperationQueue::Seen::reused)
      return error_reply(409, fmt::format("seq_id: {} was used for another request", *seq_id));
    if (known.seen == OperationQueue::Seen::given_up)
      return error_reply(
          400, fmt::format("seq_id: {} comes too late, it has been given up; the next one is {}",
                           *seq_id, queue.next()));
  }
  const bool awaited = seq_id == queue.next() && queue.waiting() > 0;
  if (operation && !awaited && model->unfinished >= options.limits.max_queued_operations)
    return error_reply(429, fmt::format("{} operations of the model `{}` wait already",
                                        model->unfinished, model->id));
  if (operation && operation->reserve)
    if (auto reserved = operation->reserve(); !reserved)
      operation = fail(std::move(reserved.error()));
  std::vector<OperationQueue::Operation> ready;
  HttpReply reply;
  if (operation) {
    auto entry = ordered(model, std::move(*operation));
    reply = accepted(entry.request_id, model->id);
    ready = queue.add(seq_id, digest, std::move(entry), Clock::now());
  } else {
    reply = error_reply(operation.error());
    if (seq_id)
      ready = queue.refuse(*seq_id, digest, reply, Clock::now());
  }
  for (const auto& next : ready)
    next.run();
  return reply;
}

HttpReply ServiceCore::unload(const std::string& model_id) {
  const std::lock_guard lock{mutex_};
  const auto found = models_.find(model_id);
  if (found == models_.end() && !ended_models_.contains(model_id))
    return error_reply(404, fmt::format("model_id: there is no model `{}`", model_id));
  if (found != models_.end())
    end_model(std::shared_ptr{found->second}, "by its client");
  auto request_id = futures.open();
  run("model " + model_id, request_id, [model_id](const std::stop_token&) -> Result<FutureValue> {
    return UnloadModelResponse{model_id};
  });
  return accepted(request_id, model_id);
}

void ServiceCore::end_model(const std::shared_ptr<Model>& model, const std::string& reason) {
  models_.erase(model->id);
  ended_models_[model->id] = reason;
  fail_all(
      model->queue.take_waiting(),
      fmt::format("the model was unloaded {} while this waited for an earlier number", reason));
  computing_.post(lane_of(*model), [this, model](const std::stop_token&) {
    model->trained.reset();
    runs.store(model->id);
  });
}

void ServiceCore::fail_all(const std::vector<OperationQueue::Operation>& operations,
                           const std::string& reason) {
  for (const auto& operation : operations)
    futures.finish(operation.request_id,
                   fail(Error{.code = Errc::request_failed,
                              .message = reason,
                              .category = ErrorCategory::user}),
                   Clock::now());
}

void ServiceCore::run(const std::string& lane, const std::string& request_id, Compute compute) {
  computing_.post(lane, [this, request_id, compute = std::move(compute)](std::stop_token stop) {
    futures.finish(request_id, guarded(compute, stop), Clock::now());
  });
}

void ServiceCore::end_session(const std::string& session_id) {
  std::vector<std::shared_ptr<Model>> models;
  for (const auto& [id, model] : models_)
    if (model->session_id == session_id)
      models.push_back(model);
  for (const auto& model : models)
    end_model(model, "since its session was silent for too long");
  std::erase_if(samplers_,
                [&](const auto& entry) { return entry.second->session_id == session_id; });
  drop_unused_weights();
}

void ServiceCore::note_usage(const std::string& session_id, const Trainer& base,
                             UsageTable::Kind kind, std::int64_t count) {
  UsageOwner owner{.session_id = session_id, .base_model = base.name()};
  {
    const std::lock_guard lock{mutex_};
    if (const auto* notes = sessions_.notes(session_id)) {
      owner.project_id = notes->project_id;
      owner.user_metadata = notes->user_metadata;
    }
  }
  usage.note(owner, kind, count, wall_now());
}

void ServiceCore::tick() {
  const auto now = Clock::now();
  futures.tick(now);
  const std::lock_guard lock{mutex_};
  for (const auto& [id, model] : models_)
    if (const auto late = model->queue.expire(now, options.limits.gap)) {
      model->unfinished -= late->operations.size();
      fail_all(late->operations,
               fmt::format("seq_id: the request number {} of the model never came; those behind it "
                           "are given up",
                           late->missing));
    }
  if (options.limits.session_expiry.count() > 0)
    for (const auto& session_id : sessions_.expire(now, options.limits.session_expiry))
      end_session(session_id);
  if (now - swept_ >= sweep_interval) {
    swept_ = now;
    readers.post({}, [this](const std::stop_token&) { free_expired(); });
  }
}

ServiceCore::~ServiceCore() {
  stop();
  // An operation that waits for a number holds its model, whose queue holds the operation.
  for (const auto& [id, model] : models_)
    (void)model->queue.take_waiting();
}

void ServiceCore::stop() {
  if (stopping_.exchange(true))
    return;
  readers.stop();
  computing_.stop();
  runs.store_all();
  futures.fail_all(stop_reason, Clock::now());
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#include "api/wire/json.hpp"
#include "server/guarded.hpp"
#include "server/journal/records.hpp"
#include "server/replies.hpp"
#include "server/service_core.hpp"
#include "server/unread.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <utility>

// The part of the core that deals with models and their operations.

namespace tinkaf::server {

namespace {

constexpr auto model_kind = SessionTable::Kind::model;

/// Beyond it not every JSON reader tells two numbers apart.
constexpr std::int64_t most_seq_id = (std::int64_t{1} << 53) - 1;

std::string lane_of(const std::string& model_id) {
  return "model " + model_id;
}

HttpReply accepted(const std::string& request_id, const std::string& model_id) {
  return HttpReply::json(200, wire::to_json(FutureRef{request_id, model_id}));
}

Error broken(const std::string& reason) {
  return {.code = Errc::server_error, .message = reason, .category = ErrorCategory::server};
}

} // namespace

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

std::string ServiceCore::where_to_go_on(const std::string& model_id) const {
  const auto stored = state->list(wall_now(), model_id).checkpoints;
  const auto last = std::find_if(stored.begin(), stored.end(), [](const auto& x) {
    return x.path.kind == CheckpointKind::training;
  });
  return last == stored.end() ? std::string{"it has no checkpoint to go on from"}
                              : "go on from " + last->path.str();
}

Error ServiceCore::unknown_model(const std::string& id) const {
  const auto run = runs.find(id);
  if (!run)
    return {.code = Errc::not_found,
            .message = fmt::format("model_id: there is no model `{}`", id)};
  return {.code = Errc::not_found,
          .message
          = fmt::format("model_id: the model `{}` is not loaded: {}; {}", id,
                        run->damage.value_or("its session has ended"), where_to_go_on(id))};
}

std::shared_ptr<Model> ServiceCore::new_model(const std::string& session_id, std::int64_t number,
                                              const Origin& origin) const {
  return std::make_shared<Model>(Model{.id = SessionTable::id_of(session_id, model_kind, number),
                                       .session_id = session_id,
                                       .number = number,
                                       .trainer = origin.trainer,
                                       .config = origin.config,
                                       .log = journal_.model_log(session_id, number)});
}

HttpReply ServiceCore::add_model(const std::string& session_id, std::int64_t model_seq_id,
                                 const std::string& digest, Origin origin, std::string_view body) {
  const std::lock_guard lock{mutex_};
  if (!sessions_.touch(session_id, Clock::now()))
    return error_reply(404, fmt::format("session_id: there is no session `{}`", session_id));
  if (const auto* claim = sessions_.find(session_id, model_kind, model_seq_id)) {
    if (claim->digest != digest)
      return error_reply(
          409, fmt::format("model_seq_id: {} was used for another request", model_seq_id));
    return accepted(claim->request_id, SessionTable::id_of(session_id, model_kind, model_seq_id));
  }
  const auto model = new_model(session_id, model_seq_id, origin);
  const auto request_id = futures.open(origin.type, model->log);
  if (auto written = append(*session_logs_.at(session_id), RecordKind::model,
                            ModelNote{.number = model_seq_id,
                                      .digest = digest,
                                      .request_id = request_id,
                                      .type = origin.type,
                                      .base_model = origin.trainer->name(),
                                      .config = origin.config},
                            body);
      !written) {
    futures.drop(request_id);
    return error_reply(not_written(written.error()).value());
  }
  const auto loaded = static_cast<std::size_t>(std::count_if(
      models_.begin(), models_.end(), [](const auto& x) { return !x.second->asleep; }));
  if (options.limits.max_models > 0 && loaded >= options.limits.max_models) {
    model->asleep.emplace();
    model->waits_for_room = true;
    waiting_models_.push_back(model->id);
  }
  if (faults->model_wait().count() > 0) {
    model->asleep.emplace();
    model->held_until = Clock::now() + faults->model_wait();
  }
  models_[model->id] = model;
  model_logs_[model->id] = model->log;
  sessions_.claim(session_id, model_kind, model_seq_id, {digest, request_id});
  make(model, request_id, std::move(origin));
  return accepted(request_id, model->id);
}

bool ServiceCore::is_loaded(const std::string& model_id) const {
  const std::lock_guard lock{mutex_};
  return models_.contains(model_id);
}

void ServiceCore::admit_waiting() {
  auto loaded = static_cast<std::size_t>(std::count_if(
      models_.begin(), models_.end(), [](const auto& x) { return !x.second->asleep; }));
  for (; loaded < options.limits.max_models && !waiting_models_.empty();
       waiting_models_.pop_front()) {
    const auto found = models_.find(waiting_models_.front());
    if (found == models_.end() || !found->second->waits_for_room)
      continue;
    found->second->waits_for_room = false;
    wake(*found->second);
    ++loaded;
  }
}

void ServiceCore::make(const std::shared_ptr<Model>& model, const std::string& request_id,
                       Origin origin) {
  const auto* notes = sessions_.notes(model->session_id);
  RunRecord record{.id = model->id,
                   .session_id = model->session_id,
                   .base_model = model->trainer->name(),
                   .lora_config = model->config,
                   .user_metadata = origin.user_metadata,
                   .project_id = notes != nullptr ? notes->project_id : std::nullopt,
                   .last_request = wall_now()};
  const auto type = origin.type;
  const auto create = [this, model, record = std::move(record),
                       origin = std::move(origin)]() -> Result<FutureValue> {
    model->missing = broken("the model was not made");
    auto made = origin.make(*model->trainer);
    if (!made) {
      model->missing = made.error();
      model->missing.message = "the model was not made: " + made.error().message;
      return fail(std::move(made.error()));
    }
    model->trained = std::move(*made);
    // It is not to depend on what becomes of the checkpoint.
    model->store_now = origin.type == RequestType::load_weights;
    runs.add(record);
    return origin.result(model->id);
  };
  post(model, [this, model, request_id, type, create](const std::stop_token& stop) {
    const Running running{*this, request_id, type};
    complete(request_id, guarded(create), stop);
    store_state(*model);
  });
}

void ServiceCore::post(const std::shared_ptr<Model>& model, WorkQueue::Work work) {
  if (model->asleep)
    model->asleep->push_back(std::move(work));
  else
    computing_.post(lane_of(model->id), std::move(work));
}

void ServiceCore::wake(Model& model) {
  if (!model.asleep || model.held_until || model.waits_for_room)
    return;
  auto begun = std::exchange(model.asleep, std::nullopt);
  for (auto& work : *begun)
    computing_.post(lane_of(model.id), std::move(work));
}

Result<FutureValue> ServiceCore::perform(Model& model, RequestType type, const Operation& operation,
                                         std::stop_token stop) {
  if (!model.trained)
    return fail(model.missing);
  if (!model.repeating && faults->fails_operation()) {
    if (type == RequestType::optim_step)
      model.trained->drop_gradient(); // as behind every step that fails
    return fail(played_fault());
  }
  const auto begun = Clock::now();
  auto result = [&]() -> Result<FutureValue> {
    try {
      return operation.compute(model, stop);
    } catch (...) {
      lose(model, "an operation broke the model");
      model.missing.message = "the model is lost since an earlier operation broke it; make a "
                              "new one from its last checkpoint";
      throw;
    }
  };
  auto out = guarded(result);
  if (changes_model(type)) {
    model.unsaved += Clock::now() - begun;
    // It is not to depend on what becomes of the checkpoint.
    model.store_now = model.store_now || (type == RequestType::load_weights && out);
  }
  return out;
}

void ServiceCore::lose(Model& model, const std::string& reason) {
  model.trained.reset();
  model.missing
      = broken(fmt::format("the model is lost: {}; {}", reason, where_to_go_on(model.id)));
  (void)append(*model.log, RecordKind::lost, TextNote{reason});
  runs.note_damage(model.id, reason);
}

OperationQueue::Operation ServiceCore::ordered(const std::shared_ptr<Model>& model,
                                               std::string request_id, RequestType type,
                                               Operation operation) {
  ++model->unfinished;
  auto work = [this, model, request_id, type,
               operation = std::move(operation)](const std::stop_token& stop) {
    auto result = [&] {
      const Running running{*this, request_id, type};
      return perform(*model, type, operation, stop);
    }();
    {
      const std::lock_guard lock{mutex_};
      --model->unfinished;
    }
    complete(request_id, std::move(result), stop, model->id);
    store_state(*model);
  };
  return {std::move(request_id), [this, model, work = std::move(work)] { post(model, work); }};
}

HttpReply ServiceCore::submit(const std::shared_ptr<Model>& model, const Submission& submission,
                              const HttpCall& call) {
  const auto& seq_id = submission.seq_id;
  const auto& digest = submission.digest;
  if (seq_id && *seq_id < 1)
    return error_reply(400, fmt::format("seq_id: must be at least 1, but is {}", *seq_id));
  if (seq_id && *seq_id > most_seq_id)
    return error_reply(400,
                       fmt::format("seq_id: must be at most {}, but is {}", most_seq_id, *seq_id));
  auto operation = submission.check(*this, *model);
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
    const auto request_id = futures.open(submission.type, model->log);
    if (auto written = append(*model->log, RecordKind::accepted,
                              RequestNote{.request_id = request_id,
                                          .type = submission.type,
                                          .number = seq_id,
                                          .digest = digest,
                                          .protobuf = is_protobuf(call)},
                              call.body);
        !written) {
      futures.drop(request_id);
      return error_reply(not_written(written.error()).value());
    }
    reply = accepted(request_id, model->id);
    ready = queue.add(seq_id, digest,
                      ordered(model, request_id, submission.type, std::move(*operation)),
                      Clock::now());
  } else {
    reply = error_reply(operation.error());
    if (seq_id) {
      if (auto written = append(*model->log, RecordKind::refused,
                                RefusalNote{*seq_id, digest, reply.status}, *reply.body);
          !written)
        return error_reply(not_written(written.error()).value());
      ready = queue.refuse(*seq_id, digest, reply, Clock::now());
    }
  }
  if (!ready.empty())
    wake(*model);
  for (const auto& next : ready)
    next.run();
  return reply;
}

HttpReply ServiceCore::unload(const std::string& model_id) {
  const std::lock_guard lock{mutex_};
  const auto found = models_.find(model_id);
  if (found == models_.end() && !ended_models_.contains(model_id))
    return error_reply(404, fmt::format("model_id: there is no model `{}`", model_id));
  const auto& log = session_logs_.at(SessionTable::session_of(model_id));
  const auto request_id = futures.open(RequestType::unload_model, log);
  const std::string reason = "by its client";
  if (auto written = append(*log, RecordKind::unloaded, UnloadNote{model_id, request_id, reason});
      !written) {
    futures.drop(request_id);
    return error_reply(not_written(written.error()).value());
  }
  if (found != models_.end())
    end_model(std::shared_ptr{found->second}, reason);
  post_unload(model_id, request_id);
  return accepted(request_id, model_id);
}

void ServiceCore::post_unload(const std::string& model_id, const std::string& request_id) {
  computing_.post(lane_of(model_id), [this, model_id, request_id](const std::stop_token& stop) {
    complete(request_id, UnloadModelResponse{model_id}, stop);
  });
}

void ServiceCore::end_model(const std::shared_ptr<Model>& model, const std::string& reason) {
  models_.erase(model->id);
  ended_models_[model->id] = reason;
  give_up(*model, model->queue.take_waiting(),
          fmt::format("the model was unloaded {} while this waited for an earlier number", reason));
  if (model->unfinished == 0 && !model->held_until && !model->waits_for_room)
    model->asleep.reset(); // what it was is of no interest any more
  model->held_until.reset();
  model->waits_for_room = false;
  admit_waiting();
  wake(*model);
  post(model, [this, model](const std::stop_token& stop) {
    if (stop.stop_requested())
      return;
    model->trained.reset();
    model->missing = broken("the model is unloaded");
    runs.store(model->id);
    std::error_code ignored;
    if (!model->stored.empty())
      std::filesystem::remove_all(journal_.file(model->session_id, model->stored), ignored);
  });
}

void ServiceCore::give_up(Model& model, const std::vector<OperationQueue::Operation>& operations,
                          const std::string& reason) {
  for (const auto& operation : operations) {
    if (futures.state(operation.request_id) != FutureStore::State::pending)
      continue; // an earlier server has given it up
    --model.unfinished;
    futures.finish(operation.request_id,
                   fail(Error{.code = Errc::request_failed,
                              .message = reason,
                              .category = ErrorCategory::user}),
                   Clock::now());
  }
}

void ServiceCore::complete(const std::string& request_id, Result<FutureValue> result,
                           const std::stop_token& stop, const std::string& run_id) {
  if (!result && stop.stop_requested())
    return; // a later server does it
  std::optional<RunCounts> counts;
  if (const auto run = run_id.empty() ? std::nullopt : runs.find(run_id))
    counts = RunCounts{run_id, run->tokens};
  futures.finish(request_id, std::move(result), Clock::now(), std::move(counts));
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#include "server/calls.hpp"
#include "server/guarded.hpp"
#include "server/restoring.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <utility>

namespace tinkaf::server {

namespace {

constexpr auto model_kind = SessionTable::Kind::model;

/// The call that a record holds.
HttpCall call_of(const RequestNote& note, const LoggedRecord& record) {
  return {.headers
          = {{"content-type", note.protobuf ? "application/x-protobuf" : "application/json"}},
          .body = record.bytes};
}

/// Of `train-<number>.<count>`; 0 if it has another form.
std::int64_t count_of(const std::string& stored) {
  std::int64_t out = 0;
  const auto at = stored.rfind('.') + 1;
  std::from_chars(stored.data() + at, stored.data() + stored.size(), out);
  return out;
}

} // namespace

void Restoring::model(const Session& session, const LoggedRecord& record) {
  const auto note = from_text<ModelNote>(record.note);
  if (!note)
    return;
  const auto id = SessionTable::id_of(session.id, model_kind, note->number);
  core_.sessions_.claim(session.id, model_kind, note->number, {note->digest, note->request_id});
  const auto log = core_.journal_.model_log(session.id, note->number);
  const auto contents = LogContents::read(*log);
  core_.model_logs_[id] = log;
  outcomes(log, contents);
  const auto* done = contents.find(note->request_id);
  if (contents.damage)
    core_.runs.note_damage(id, "what was written down of it is damaged: " + *contents.damage);
  const auto run = core_.runs.find(id);
  const auto damage = run ? run->damage : contents.damage ? contents.damage : contents.lost;
  if (damage) {
    if (!run)
      core_.ended_models_[id] = *damage;
    return unusable(id, log, contents, *damage);
  }
  const auto base = core_.trainer(note->base_model);
  if (!base) {
    core_.ended_models_[id]
        = fmt::format("its base model `{}` is not served here", note->base_model);
    return unusable(id, log, contents, base.error().message);
  }
  const auto model = std::make_shared<Model>(Model{.id = id,
                                                   .session_id = session.id,
                                                   .number = note->number,
                                                   .trainer = *base,
                                                   .config = note->config,
                                                   .log = log,
                                                   .asleep = std::vector<WorkQueue::Work>{}});
  core_.models_[id] = model;
  const auto origin
      = [&core = core_, type = note->type, config = note->config, body = record.bytes] {
          return calls::read_origin(core, type, body).map([&](Origin&& x) {
            if (type == RequestType::create_model) { // with the seed that was drawn
              x.config = config;
              x.make = [config](Trainer& trainer) { return trainer.create(config); };
            }
            return std::move(x);
          });
        };
  if (done == nullptr) {
    core_.futures.restore_pending(note->request_id, note->type, log);
    ++model->unfinished;
    if (auto read = origin())
      core_.make(model, note->request_id, std::move(*read));
    else
      model->asleep->push_back([&core = core_, model, request = note->request_id,
                                error = read.error()](const std::stop_token& stop) {
        model->missing = error;
        core.complete(request, fail(error), stop);
      });
    model->asleep->push_back([&core = core_, model](const std::stop_token&) {
      const std::lock_guard lock{core.mutex_};
      --model->unfinished;
    });
  } else if (done->note.failed) {
    model->missing = {.code = Errc::server_error,
                      .message = "the model was not made",
                      .category = ErrorCategory::server};
  } else {
    revive(model, contents, [origin, model]() -> Result<std::unique_ptr<TrainedModel>> {
      auto read = origin();
      return read ? read->make(*model->trainer) : fail(std::move(read.error()));
    });
  }
  operations(model, contents);
  if (model->unfinished > 0)
    at_end_.push_back([this, model] {
      const std::lock_guard lock{core_.mutex_};
      core_.wake(*model);
    });
}

void Restoring::revive(const std::shared_ptr<Model>& model, const LogContents& contents,
                       std::function<Result<std::unique_ptr<TrainedModel>>()> make) {
  const auto prefix = fmt::format("train-{}.", model->number);
  model->stored = contents.stored.value_or(std::string{});
  model->stored_count = count_of(model->stored);
  std::error_code ignored;
  for (const auto& name : core_.journal_.files(model->session_id))
    if (name.starts_with(prefix) && name != model->stored && !name.ends_with(".log"))
      std::filesystem::remove_all(core_.journal_.file(model->session_id, name), ignored);
  if (!model->stored.empty())
    make = [model, folder = core_.journal_.file(model->session_id, model->stored)] {
      return model->trainer->restore(folder);
    };
  model->asleep->push_back(
      [&core = core_, model, make = std::move(make)](const std::stop_token& stop) {
        auto made = guarded(make);
        if (made)
          model->trained = std::move(*made);
        else if (!stop.stop_requested())
          core.lose(*model, "its state cannot be restored: " + made.error().message);
      });
}

void Restoring::operations(const std::shared_ptr<Model>& model, const LogContents& contents) {
  for (const auto& record : contents.records) {
    std::vector<OperationQueue::Operation> ready;
    if (record.kind == RecordKind::refused) {
      if (const auto note = from_text<RefusalNote>(record.note))
        ready = model->queue.refuse(note->number, note->digest,
                                    HttpReply::json(static_cast<int>(note->status), record.bytes),
                                    now_);
    } else if (record.kind == RecordKind::given_up) {
      if (model->queue.waiting() > 0) {
        const auto late = model->queue.give_up();
        core_.give_up(*model, late.operations, "seq_id: an earlier number of the model never came");
      }
    } else if (const auto note = from_text<RequestNote>(record.note)) {
      if (!note->number && note->type == RequestType::save_weights)
        ++model->unnumbered_saves;
      ready = model->queue.add(note->number, note->digest,
                               operation(model, contents, *note, record), now_);
    }
    for (const auto& next : ready)
      next.run();
  }
}

OperationQueue::Operation Restoring::operation(const std::shared_ptr<Model>& model,
                                               const LogContents& contents, const RequestNote& note,
                                               const LoggedRecord& record) {
  const auto* done = contents.find(note.request_id);
  const OperationQueue::Operation nothing{note.request_id, [] {}};
  if (record.kind == RecordKind::known)
    return nothing;
  const bool failed_step
      = done != nullptr && done->note.failed && note.type == RequestType::optim_step;
  if (failed_step)
    return {note.request_id, [&core = core_, model] {
              core.post(model, [model](const std::stop_token&) {
                if (model->trained)
                  model->trained->drop_gradient();
              });
            }};
  if (done != nullptr && (done->note.failed || !changes_model(note.type)))
    return nothing;
  auto submission = calls::read_submission(note.type, call_of(note, record));
  auto read = submission ? submission->check(core_, *model) : fail(std::move(submission.error()));
  if (!read)
    read = Operation{[error = read.error()](Model&, const std::stop_token&) -> Result<FutureValue> {
      return fail(error);
    }};
  if (done != nullptr)
    return repeated(model, note, std::move(*read));
  core_.futures.restore_pending(note.request_id, note.type, model->log);
  if (read->reserve)
    (void)read->reserve(); // a save that was cut off may have put its checkpoint in its place
  return core_.ordered(model, note.request_id, note.type, std::move(*read));
}

OperationQueue::Operation Restoring::repeated(const std::shared_ptr<Model>& model,
                                              const RequestNote& note, Operation operation) {
  auto work = [&core = core_, model, type = note.type,
               operation = std::move(operation)](const std::stop_token& stop) {
    if (!model->trained)
      return;
    model->repeating = true;
    const auto result = core.perform(*model, type, operation, stop);
    model->repeating = false;
    if (!result && model->trained && !stop.stop_requested())
      core.lose(*model, fmt::format("its state cannot be computed again: {}: {}", to_string(type),
                                    result.error().message));
  };
  return {note.request_id,
          [&core = core_, model, work = std::move(work)] { core.post(model, work); }};
}

void Restoring::unloaded(const Session& session, const LoggedRecord& record) {
  const auto note = from_text<UnloadNote>(record.note);
  if (!note)
    return;
  if (const auto found = core_.models_.find(note->model_id); found != core_.models_.end())
    core_.end_model(std::shared_ptr{found->second}, note->reason);
  core_.ended_models_[note->model_id] = note->reason;
  if (session.contents.find(note->request_id) != nullptr)
    return;
  core_.futures.restore_pending(note->request_id, RequestType::unload_model, session.log);
  at_end_.push_back([this, note = *note] { core_.post_unload(note.model_id, note.request_id); });
}

void Restoring::unusable(const std::string& model_id, const std::shared_ptr<RecordLog>& log,
                         const LogContents& contents, const std::string& reason) {
  const auto text = fmt::format("{}; {}", reason, core_.where_to_go_on(model_id));
  for (const auto& record : contents.records)
    if (record.kind == RecordKind::accepted)
      if (const auto note = from_text<RequestNote>(record.note);
          note && contents.find(note->request_id) == nullptr)
        core_.futures.restore(note->request_id,
                              FutureFailed{.error = text, .category = ErrorCategory::server}, now_,
                              {}, 0, log);
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#include "train/job_model.hpp"

#include <fmt/format.h>

#include <utility>

namespace tinkaf::train {

namespace {

/// Sampling sessions that a process may have opened without the journal's knowing.
constexpr std::int64_t unnoted_samplers = 1'000;

void tell(const NoticeSink& notices, Severity severity, std::string text) {
  if (notices)
    notices({severity, std::move(text)});
}

/// Whether a checkpoint cannot be restored, now or later.
bool is_unusable(const Error& error) {
  return is_gone(error) || error.code == Errc::request_failed
         || error.code == Errc::permission_denied || error.code == Errc::invalid_argument;
}

/// Whether the service, or our own check, has said no, so that nothing was made.
bool is_refusal(const Error& error) {
  return !error.ambiguous
         && (error.code == Errc::invalid_argument || error.code == Errc::not_found
             || error.code == Errc::permission_denied || error.code == Errc::request_failed);
}

class Opening {
public:
  Opening(const OpenService& open, const JobModelSettings& settings, RunFolder& folder,
          const NoticeSink& notices)
      : open_(open), settings_(settings), folder_(folder), notices_(notices),
        journal_(folder.journal()) {}

  Result<JobModel> run() {
    auto attempt = journal_->attempt();
    if (!attempt)
      return fail(std::move(attempt.error()));
    if (*attempt && !(*attempt)->session.session_id.empty()) {
      auto model = go_on(**attempt);
      if (model || !is_gone(model.error()))
        return model;
      tell(notices_, Severity::warning,
           "the run cannot go on where it ended: " + model.error().message);
    }
    return begin_again();
  }

private:
  Result<JobModel> go_on(const JobAttempt& attempt) {
    auto record = attempt.session;
    record.next_sampling_session_seq_id += unnoted_samplers;
    auto service = open_(record);
    if (!service)
      return fail(std::move(service.error()));
    if (auto noted = journal_->update(record); !noted)
      return fail(std::move(noted.error()));
    // Until the model is known, the service recognises the call that makes it by its number.
    if (attempt.model_id.empty())
      return make(std::move(*service), attempt.restored_from);
    auto attach = journal_->attach();
    if (!attach)
      return fail(std::move(attach.error()));
    attach->base_model = settings_.base_model;
    auto client = service->attach_training_client(std::move(*attach), journal_);
    if (!client)
      return fail(std::move(client.error()));
    return JobModel{std::move(*service), std::move(*client)};
  }

  Result<JobModel> begin_again() {
    auto service = open_(std::nullopt);
    if (!service)
      return fail(std::move(service.error()));
    while (!folder_.checkpoints().empty()) {
      const auto checkpoint = folder_.checkpoints().back();
      auto model = begin(*service, checkpoint.batch, checkpoint.state_path);
      if (model || !is_unusable(model.error()))
        return model;
      tell(notices_, Severity::warning,
           fmt::format("the checkpoint {} cannot be restored: {}", checkpoint.state_path,
                       model.error().message));
      if (auto forgotten = folder_.forget(checkpoint); !forgotten)
        return fail(std::move(forgotten.error()));
    }
    return begin(*service, 0, {});
  }

  Result<JobModel> begin(const Service& service, std::size_t step, const std::string& path) {
    const auto lost = folder_.headlines().size() - step;
    if (lost > 0)
      tell(notices_, Severity::warning,
           fmt::format("the run goes back {} steps, to {}", lost,
                       path.empty() ? "its beginning" : path));
    auto record = service.record();
    if (!record)
      return fail(std::move(record.error()));
    if (auto begun = folder_.begin({std::move(*record), {}, step, path}); !begun)
      return fail(std::move(begun.error()));
    return make(service, path);
  }

  Result<JobModel> make(Service service, const std::string& path) {
    const auto& from = path.empty() ? settings_.from : path;
    auto client
        = from.empty()
              ? service.create_lora_training_client(settings_.base_model, settings_.lora_config,
                                                    settings_.user_metadata, journal_)
              : service.create_training_client_from_state({.path = from,
                                                           .with_optimizer = !path.empty(),
                                                           .user_metadata = settings_.user_metadata,
                                                           .base_model = {},
                                                           .weights_access_token = {}},
                                                          journal_);
    if (!client) {
      if (is_refusal(client.error()))
        folder_.begin_refused();
      return fail(std::move(client.error()));
    }
    auto record = service.record();
    if (!record)
      return fail(std::move(record.error()));
    if (auto ready = journal_->ready(*record, client->model_id()); !ready)
      return fail(std::move(ready.error()));
    return JobModel{std::move(service), std::move(*client)};
  }

  const OpenService& open_;
  const JobModelSettings& settings_;
  RunFolder& folder_;
  const NoticeSink& notices_;
  std::shared_ptr<JobJournal> journal_;
};

} // namespace

bool is_gone(const Error& error) {
  return error.code == Errc::not_found || error.code == Errc::future_expired
         || error.http_status == 404 || error.http_status == 410;
}

Result<JobModel> open_job_model(const OpenService& open, const JobModelSettings& settings,
                                RunFolder& folder, const NoticeSink& notices) {
  return Opening{open, settings, folder, notices}.run();
}

} // namespace tinkaf::train

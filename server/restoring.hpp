// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/journal/log_contents.hpp"
#include "server/service_core.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace tinkaf::server {

/// Takes up what an earlier server left in the journal: its tables as they were, its results, and
/// the requests that it had accepted and not done. Runs before anybody else uses the core.
///
/// A model is computed again, from its last stored state on, when somebody uses it, or at once if
/// it has something to do.
class Restoring {
public:
  explicit Restoring(ServiceCore& core) : core_(core) {}
  void run();

private:
  struct Session {
    std::string id;
    std::shared_ptr<RecordLog> log;
    LogContents contents;
  };

  void session(Session session);
  void models_without_session(const std::string& session_id, const std::string& reason);

  void model(const Session& session, const LoggedRecord& record);
  void unloaded(const Session& session, const LoggedRecord& record);
  void sampler(const Session& session, const LoggedRecord& record);
  void sample(const std::shared_ptr<RecordLog>& log, const LogContents& contents,
              const LoggedRecord& record);

  /// The state of a model and what was asked of it.
  void revive(const std::shared_ptr<Model>& model, const LogContents& contents,
              std::function<Result<std::unique_ptr<TrainedModel>>()> make);
  void operations(const std::shared_ptr<Model>& model, const LogContents& contents);
  [[nodiscard]] OperationQueue::Operation operation(const std::shared_ptr<Model>& model,
                                                    const LogContents& contents,
                                                    const RequestNote& note,
                                                    const LoggedRecord& record);
  [[nodiscard]] OperationQueue::Operation repeated(const std::shared_ptr<Model>& model,
                                                   const RequestNote& note, Operation operation);

  /// A model that cannot be restored; its requests fail as long as this server runs.
  void unusable(const std::string& model_id, const std::shared_ptr<RecordLog>& log,
                const LogContents& contents, const std::string& reason);

  void outcomes(const std::shared_ptr<RecordLog>& log, const LogContents& contents);
  void outcome(const std::string& request_id, const LogContents::Outcome& outcome,
               const std::shared_ptr<RecordLog>& log);
  [[nodiscard]] ServiceCore::Clock::time_point instant(Timestamp time) const;

  ServiceCore& core_;
  const Timestamp wall_now_ = core_.wall_now();
  const ServiceCore::Clock::time_point now_ = ServiceCore::Clock::now();
  std::map<std::string, WeightsFolder> weights_; // by version
  std::vector<std::function<void()>> at_end_;    // what begins to compute
};

} // namespace tinkaf::server

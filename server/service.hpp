// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/http/http_exchange.hpp"
#include "server/journal/journal_folder.hpp"
#include "server/server_options.hpp"
#include "server/state_folder.hpp"
#include "server/trainer.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

namespace tinkaf::server {

class Faults;
class ServiceCore;
struct Route;

/// The API behind HTTP: takes calls, orders them, has them computed on a thread of its own, and
/// keeps the results. Thread-safe; nothing blocks but `stop`.
class Service {
public:
  Service(const ServerOptions& options, std::vector<std::shared_ptr<Trainer>> trainers,
          std::unique_ptr<StateFolder> state, JournalFolder journal,
          std::shared_ptr<Faults> faults);

  /// Calls `stop`.
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Looks at a call before its body is read: unknown path, wrong method, key or type of content.
  [[nodiscard]] std::optional<HttpReply> refuse(const HttpCall& call) const;

  void handle(HttpCall call, Responder responder);

  /// To be called again and again: answers polls that have waited long enough, gives up numbers
  /// that never came, ends sessions that are silent.
  void tick();

  /// Gives up what is being computed and answers all polls. Calls that come later get 503.
  void stop();

  [[nodiscard]] const std::filesystem::path& state_dir() const noexcept;

private:
  [[nodiscard]] std::optional<HttpReply> refuse_unread_body(const HttpCall& call) const;
  void answer(const Route& route, HttpCall call, const Responder& responder);

  std::unique_ptr<ServiceCore> core_;
};

} // namespace tinkaf::server

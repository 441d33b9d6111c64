// SPDX-License-Identifier: Apache-2.0
#include "client/runtime.hpp"

#include "actors/ledger.hpp"
#include "actors/session.hpp"

namespace tinkaf {

Runtime::Runtime(NoticeSink notices)
    : notices_(std::move(notices)), system_(configure_for_clients(config_)),
      courier_(system_.spawn(courier)) {}

Result<std::shared_ptr<Runtime>> Runtime::start(ClientOptions options, NoticeSink notices,
                                                std::optional<SessionRecord> record) {
  auto runtime = std::make_shared<Runtime>(notices);
  auto session = spawn_session(runtime->system_, std::move(options), std::move(notices), {},
                               std::move(record));
  if (!session)
    return fail(std::move(session.error()));
  runtime->session_ = std::move(*session);
  return runtime;
}

Runtime::~Runtime() {
  if (session_)
    caf::anon_send_exit(session_, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(courier_, caf::exit_reason::user_shutdown);
  for (const auto& ledger : ledgers_)
    caf::anon_send_exit(ledger, caf::exit_reason::user_shutdown);
  ledgers_.clear();
  session_ = nullptr;
  courier_ = nullptr;
}

LedgerActor Runtime::ledger(std::shared_ptr<OperationLog> log) {
  if (!log)
    return {};
  const auto lock = std::scoped_lock{mutex_};
  return ledgers_.emplace_back(spawn_ledger(system_, std::move(log)));
}

void Runtime::carry(CourierTask task) {
  caf::anon_send(courier_, std::move(task));
}

} // namespace tinkaf

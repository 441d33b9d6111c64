// SPDX-License-Identifier: Apache-2.0
#include "client/runtime.hpp"

#include "actors/session.hpp"

namespace tinkaf {

Runtime::Runtime(NoticeSink notices)
    : notices_(std::move(notices)), system_(configure_for_clients(config_)),
      courier_(system_.spawn(courier)) {}

Result<std::shared_ptr<Runtime>> Runtime::start(ClientOptions options, NoticeSink notices) {
  auto runtime = std::make_shared<Runtime>(notices);
  auto session = spawn_session(runtime->system_, std::move(options), std::move(notices));
  if (!session)
    return fail(std::move(session.error()));
  runtime->session_ = std::move(*session);
  return runtime;
}

Runtime::~Runtime() {
  if (session_)
    caf::anon_send_exit(session_, caf::exit_reason::user_shutdown);
  caf::anon_send_exit(courier_, caf::exit_reason::user_shutdown);
  session_ = nullptr;
  courier_ = nullptr;
}

void Runtime::carry(CourierTask task) {
  caf::anon_send(courier_, std::move(task));
}

} // namespace tinkaf

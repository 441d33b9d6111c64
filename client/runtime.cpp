// SPDX-License-Identifier: Apache-2.0
#include "client/runtime.hpp"

#include "actors/ledger.hpp"
#include "actors/own_threads.hpp"
#include "actors/quiet_notices.hpp"
#include "actors/session.hpp"

#include <atomic>
#include <chrono>
#include <list>
#include <mutex>
#include <thread>

namespace tinkaf {

namespace {

/// A source that is waiting when its runtime ends has this long to heed its stop.
constexpr std::chrono::milliseconds source_patience{100};

/// Ends runtimes in the place of threads that these wait for.
class Undertaker {
public:
  static Undertaker& instance() {
    static Undertaker undertaker;
    return undertaker;
  }

  /// Waits for all that are ending.
  ~Undertaker() {
    for (auto& work : works_)
      work.thread.join();
  }

  Undertaker(const Undertaker&) = delete;
  Undertaker& operator=(const Undertaker&) = delete;

  void end(Runtime* runtime) {
    std::lock_guard lock{mutex_};
    works_.remove_if([](Work& work) {
      if (!*work.done)
        return false;
      work.thread.join();
      return true;
    });
    auto done = std::make_shared<std::atomic<bool>>(false);
    works_.push_back({std::thread{[runtime, done] {
                        delete runtime;
                        *done = true;
                      }},
                      done});
  }

private:
  Undertaker() = default;

  struct Work {
    std::thread thread;
    std::shared_ptr<std::atomic<bool>> done;
  };

  std::mutex mutex_;
  std::list<Work> works_;
};

void end_runtime(Runtime* runtime) {
  if (on_own_thread())
    Undertaker::instance().end(runtime);
  else
    delete runtime;
}

} // namespace

Runtime::Runtime(NoticeSink notices)
    : notices_(std::move(notices)), source_threads_(make_loss_threads(source_patience)),
      system_(configure_for_clients(config_)), courier_(system_.spawn(courier)) {}

Result<std::shared_ptr<Runtime>> Runtime::start(ClientOptions options, NoticeSink notices,
                                                std::optional<SessionRecord> record) {
  notices = harmless_notices(std::move(notices));
  Result<std::shared_ptr<Runtime>> result;
  apart([&] {
    auto runtime = std::shared_ptr<Runtime>{new Runtime(notices), end_runtime};
    auto session = spawn_session(runtime->system_, std::move(options), std::move(notices),
                                 std::move(record));
    if (session)
      runtime->session_ = std::move(*session);
    result = std::move(session).map([&](auto&&) { return std::move(runtime); });
  });
  return result;
}

void Runtime::apart(const std::function<void()>& work) {
  std::thread{[&] { work(); }}.join();
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
  apart([&] { ledgers_.push_back(spawn_ledger(system_, std::move(log))); });
  return ledgers_.back();
}

void Runtime::carry(CourierTask task) {
  caf::anon_send(courier_, std::move(task));
}

} // namespace tinkaf

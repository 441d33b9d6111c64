// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/courier.hpp"
#include "actors/loss_threads.hpp"
#include "actors/open_calls.hpp"
#include "api/client_options.hpp"
#include "client/future.hpp"
#include "messages/interfaces.hpp"
#include "messages/notice.hpp"
#include "messages/operation_log.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

// Private to this folder: what the façade's parts share.

namespace tinkaf {

/// An actor system with one session, and the courier that asks on behalf of plain code.
///
/// Whoever holds a client holds the runtime, and the last one ends it. If that is a function of the
/// user's which one of our own threads lets go of, the end is left to another thread.
class Runtime : public std::enable_shared_from_this<Runtime> {
public:
  /// Starts the actors; the session is still to be opened.
  /// @param record the session to go on with; a new one if absent
  [[nodiscard]] static Result<std::shared_ptr<Runtime>>
  start(ClientOptions options, NoticeSink notices, std::optional<SessionRecord> record = {});

  explicit Runtime(NoticeSink notices);

  /// Ends all actors and waits for them; what is under way is answered with `Errc::cancelled`. Not
  /// to be called on one of their threads: `start` sees to that.
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  /// Asks an actor.
  /// @param what the call, for messages
  template <class T, class Handle, class... Args>
  [[nodiscard]] Future<T> ask(std::string what, const Handle& whom, Args... args);

  /// Starts a ledger over a log; it ends with the runtime. Null for none.
  [[nodiscard]] LedgerActor ledger(std::shared_ptr<OperationLog> log);

  /// Does something on a thread that then ends, and waits for it. A thread that makes an actor
  /// system or spawns an actor keeps CAF's logger for as long as it lasts, and CAF keeps the end of
  /// the actor system waiting for it: done like this, any thread may end a runtime.
  static void apart(const std::function<void()>& work);

  [[nodiscard]] const SessionActor& session() const noexcept {
    return session_;
  }

  [[nodiscard]] caf::actor_system& system() noexcept {
    return system_;
  }

  /// Takes what the user should know.
  [[nodiscard]] const NoticeSink& notices() const noexcept {
    return notices_;
  }

  /// Where sources of samples run.
  [[nodiscard]] const std::shared_ptr<LossThreads>& source_threads() const noexcept {
    return source_threads_;
  }

private:
  /// Sets a state's answer, at the latest when the last copy goes away.
  template <class T>
  struct Answerer {
    explicit Answerer(std::shared_ptr<FutureState<T>> x) : state(std::move(x)) {}

    ~Answerer() {
      state->set(fail(Errc::cancelled, "the client was shut down before an answer came"));
    }

    Answerer(const Answerer&) = delete;
    Answerer& operator=(const Answerer&) = delete;

    std::shared_ptr<FutureState<T>> state;
  };

  void carry(CourierTask task);

  NoticeSink notices_;
  std::shared_ptr<LossThreads> source_threads_;
  caf::actor_system_config config_;
  caf::actor_system system_;
  caf::actor courier_;
  SessionActor session_;

  std::mutex mutex_; // of what follows
  std::vector<LedgerActor> ledgers_;
};

template <class T, class Handle, class... Args>
Future<T> Runtime::ask(std::string what, const Handle& whom, Args... args) {
  auto state = std::make_shared<FutureState<T>>(std::move(what), notices_);
  auto answerer = std::make_shared<Answerer<T>>(state);
  auto message = std::make_shared<std::tuple<Args...>>(std::move(args)...);
  auto call = std::make_shared<std::uint64_t>(0); // the courier alone looks at it
  if constexpr (takes<Handle, void(atom::cancel, std::uint64_t)>)
    state->on_cancel(
        [runtime = weak_from_this(), whom = caf::actor_cast<caf::actor_addr>(whom), call] {
          if (auto alive = runtime.lock())
            alive->carry([whom, call](caf::event_based_actor* self) {
              if (auto client = caf::actor_cast<Handle>(whom); client && *call != 0)
                self->send(client, atom::cancel_v, *call);
            });
        });
  if constexpr (takes<Handle, CallStatus(atom::status, std::uint64_t)>)
    state->on_status([runtime = weak_from_this(), whom = caf::actor_cast<caf::actor_addr>(whom),
                      call, asking = std::weak_ptr<FutureState<T>>{state}] {
      if (auto alive = runtime.lock())
        alive->carry([whom, call, asking](caf::event_based_actor* self) {
          if (auto client = caf::actor_cast<Handle>(whom); client && *call != 0)
            self->request(client, caf::infinite, atom::status_v, *call)
                .then(
                    [asking](CallStatus& status) {
                      if (auto waiting = asking.lock())
                        waiting->tell(std::move(status));
                    },
                    [](const caf::error&) {}); // then there is nothing to say
        });
    });
  carry([whom, answerer, message, call](caf::event_based_actor* self) {
    if (answerer->state->ready())
      return; // given up before it was made
    std::apply(
        [&](auto&... xs) {
          auto request = self->request(whom, caf::infinite, std::move(xs)...);
          *call = call_id(request);
          request.then(
              [answerer](T& value) { answerer->state->set(std::move(value)); },
              [answerer](const caf::error& error) { answerer->state->set(fail(from_caf(error))); });
        },
        *message);
  });
  return Future<T>{std::move(state)};
}

} // namespace tinkaf

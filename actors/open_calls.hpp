// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/holders.hpp"
#include "actors/owed.hpp"
#include "messages/interfaces.hpp"

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/message_id.hpp>
#include <caf/response_promise.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace tinkaf {

/// The id by which an asker gives up a call.
/// @param handle what `request` returned
template <class ResponseHandle>
[[nodiscard]] std::uint64_t call_id(const ResponseHandle& handle) {
  return handle.id().request_id().integer_value();
}

/// The same id, as whoever owes the answer sees it.
template <class T>
[[nodiscard]] std::uint64_t request_id(const Owed<T>& answer) {
  auto promise = answer.promise();
  return static_cast<caf::response_promise&>(promise).id().request_id().integer_value();
}

/// The calls that an actor has yet to answer, so that their askers can give them up.
template <class Self>
class OpenCalls {
public:
  /// @param watch monitor the askers, to give up the calls of one that ends (see `on_down`)
  OpenCalls(Self* self, bool watch) : self_(self), watch_(watch), askers_(self) {}

  /// Starts to owe an answer that the asker can give up: then it is `Errc::cancelled`, and polls
  /// for it stop.
  /// @param call gets the call's number, for `PollJob::call`
  template <class T>
  [[nodiscard]] Owed<T> owe(const PollerSupervisorActor& pollers, std::uint64_t& call) {
    auto answer = tinkaf::owe<T>(self_);
    auto promise = answer.promise();
    call = add(static_cast<caf::response_promise&>(promise),
               [this, pollers, fail = answer.failer()](std::uint64_t number) {
                 self_->send(pollers, atom::cancel_v, number);
                 fail({Errc::cancelled, "the call was given up by its caller"});
               });
    answer.when_settled([alive = std::weak_ptr<const bool>{alive_}, this, number = call] {
      if (!alive.expired())
        remove(number);
    });
    return answer;
  }

  /// Notes a call.
  /// @param give_up called with the call's number, at most once and not after `remove`
  /// @returns the call's number here, never 0
  std::uint64_t add(const caf::response_promise& promise,
                    std::function<void(std::uint64_t)> give_up) {
    auto number = ++last_;
    auto request = Request{caf::actor_cast<caf::actor_addr>(promise.source()),
                           promise.id().request_id().integer_value()};
    if (watch_)
      askers_.add(promise.source());
    by_request_.emplace(request, number);
    calls_.emplace(number, Call{std::move(request), std::move(give_up)});
    return number;
  }

  /// Forgets a call that is answered.
  void remove(std::uint64_t number) {
    auto node = calls_.extract(number);
    if (node.empty())
      return;
    by_request_.erase(node.mapped().request);
    if (watch_)
      askers_.remove(node.mapped().request.first);
  }

  /// The number of a call, or 0 if it is answered.
  [[nodiscard]] std::uint64_t find(const caf::strong_actor_ptr& asker, std::uint64_t id) const {
    auto found = by_request_.find({caf::actor_cast<caf::actor_addr>(asker), id});
    return found != by_request_.end() ? found->second : 0;
  }

  /// Asks how far a call is that is owed by `owe` or polls under the number given by `add`.
  [[nodiscard]] caf::typed_response_promise<CallStatus> status(const PollerSupervisorActor& pollers,
                                                               const caf::strong_actor_ptr& asker,
                                                               std::uint64_t id) const {
    auto answer = tinkaf::owe<CallStatus>(self_);
    auto number = find(asker, id);
    if (number == 0)
      answer.deliver({});
    else
      self_->request(pollers, caf::infinite, atom::status_v, number)
          .then([answer](CallStatus& status) { answer.deliver(std::move(status)); },
                [answer](const caf::error& error) { answer.fail(from_caf(error)); });
    return answer.promise();
  }

  /// Gives up one call.
  void cancel(const caf::strong_actor_ptr& asker, std::uint64_t id) {
    if (auto number = find(asker, id); number != 0)
      give_up(number);
  }

  /// Gives up the calls of an asker that has ended.
  void on_down(const caf::actor_addr& asker) {
    std::vector<std::uint64_t> numbers;
    for (auto i = by_request_.lower_bound({asker, 0});
         i != by_request_.end() && i->first.first == asker; ++i)
      numbers.push_back(i->second);
    for (auto number : numbers)
      give_up(number);
    askers_.forget(asker);
  }

private:
  using Request = std::pair<caf::actor_addr, std::uint64_t>;

  struct Call {
    Request request;
    std::function<void(std::uint64_t)> give_up;
  };

  void give_up(std::uint64_t number) {
    auto action = std::move(calls_.at(number).give_up);
    remove(number);
    action(number);
  }

  Self* self_;
  bool watch_;
  Holders<Self> askers_;
  std::map<std::uint64_t, Call> calls_;
  std::map<Request, std::uint64_t> by_request_;
  std::uint64_t last_ = 0;

  /// Ends with this object, which answers may outlive.
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/holders.hpp"

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/message_id.hpp>
#include <caf/response_promise.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

namespace tinkaf {

/// The id by which an asker gives up a call.
/// @param handle what `request` returned
template <class ResponseHandle>
[[nodiscard]] std::uint64_t call_id(const ResponseHandle& handle) {
  return handle.id().request_id().integer_value();
}

/// The calls that an actor has yet to answer. An asker can give one up; those of an asker that has
/// ended are given up by themselves.
template <class Self>
class OpenCalls {
public:
  explicit OpenCalls(Self* self) : askers_(self) {}

  /// Notes a call.
  /// @param give_up called with the call's number, at most once and not after `remove`
  /// @returns the call's number here, never 0
  std::uint64_t add(const caf::response_promise& promise,
                    std::function<void(std::uint64_t)> give_up) {
    auto number = ++last_;
    auto request = Request{caf::actor_cast<caf::actor_addr>(promise.source()),
                           promise.id().request_id().integer_value()};
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
    askers_.remove(node.mapped().request.first);
  }

  /// The number of a call, or 0 if it is answered.
  [[nodiscard]] std::uint64_t find(const caf::strong_actor_ptr& asker, std::uint64_t id) const {
    auto found = by_request_.find({caf::actor_cast<caf::actor_addr>(asker), id});
    return found != by_request_.end() ? found->second : 0;
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

  Holders<Self> askers_;
  std::map<std::uint64_t, Call> calls_;
  std::map<Request, std::uint64_t> by_request_;
  std::uint64_t last_ = 0;
};

} // namespace tinkaf

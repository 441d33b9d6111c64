// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/actor_control_block.hpp>

#include <cstddef>
#include <map>

namespace tinkaf {

/// Counts what each actor holds or waits for at `Self`, which monitors it meanwhile: once for each
/// actor, however much that one holds.
template <class Self>
class Holders {
public:
  explicit Holders(Self* self) : self_(self) {}

  /// One more for `holder`; an invalid address is ignored.
  void add(const caf::strong_actor_ptr& holder) {
    if (holder && ++counts_[caf::actor_cast<caf::actor_addr>(holder)] == 1)
      self_->monitor(holder);
  }

  /// One less.
  void remove(const caf::actor_addr& holder) {
    auto found = counts_.find(holder);
    if (found == counts_.end() || --found->second > 0)
      return;
    self_->demonitor(holder);
    counts_.erase(found);
  }

  /// Forgets an actor that has ended.
  void forget(const caf::actor_addr& holder) {
    counts_.erase(holder);
  }

private:
  Self* self_;
  std::map<caf::actor_addr, std::size_t> counts_;
};

} // namespace tinkaf

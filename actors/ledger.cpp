// SPDX-License-Identifier: Apache-2.0
#include "actors/ledger.hpp"

#include "actors/exceptions.hpp"

#include <caf/spawn_options.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <exception>
#include <utility>

namespace tinkaf {

namespace {

struct LedgerState {
  std::shared_ptr<OperationLog> log;

  static inline const char* name = "tinkaf.ledger";
};

/// What a log does wrong is an error of its call.
template <class Call>
Result<void> guarded(Call call) {
  try {
    return call();
  } catch (const std::exception& error) {
    return fail(Errc::internal, std::string{"the operation log threw: "} + error.what());
  } catch (...) {
    return fail(Errc::internal, "the operation log threw");
  }
}

LedgerActor::behavior_type ledger(LedgerActor::stateful_pointer<LedgerState> self,
                                  std::shared_ptr<OperationLog> log) {
  end_on_exception(self);
  self->state.log = std::move(log);
  return {
      [self](const NumberedTurn& turn) -> caf::result<Done> {
        if (auto noted = guarded([&] { return self->state.log->note(turn); }); !noted)
          return to_caf(std::move(noted.error()));
        return Done{};
      },
      [self](atom::accepted, std::int64_t seq_id, const FutureRef& result) {
        (void)guarded([&] { return self->state.log->accepted(seq_id, result); });
      },
  };
}

} // namespace

LedgerActor spawn_ledger(caf::actor_system& system, std::shared_ptr<OperationLog> log) {
  return system.spawn<caf::detached>(ledger, std::move(log));
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "actors/ledger.hpp"

#include "actors/exceptions.hpp"

#include <caf/spawn_options.hpp>
#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace tinkaf {

namespace {

struct LedgerState {
  std::shared_ptr<OperationLog> log;

  /// Why the first note failed that did.
  std::optional<Error> failed;

  /// Notes nothing behind a gap: what was asked for later would take its place.
  Result<void> note(const NumberedTurn& turn);

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

Result<void> LedgerState::note(const NumberedTurn& turn) {
  if (failed)
    return fail(*failed);
  auto noted = guarded([&] { return log->note(turn); });
  if (!noted)
    failed = noted.error();
  return noted;
}

LedgerActor::behavior_type ledger(LedgerActor::stateful_pointer<LedgerState> self,
                                  std::shared_ptr<OperationLog> log) {
  end_on_exception(self);
  self->state.log = std::move(log);
  return {
      [self](const NumberedTurn& turn) -> caf::result<Done> {
        if (auto noted = self->state.note(turn); !noted)
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

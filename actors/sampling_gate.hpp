// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/holders.hpp"
#include "actors/owed.hpp"
#include "messages/interfaces.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>

namespace tinkaf {

/// How samples are let through. Numbers: those of the official SDK.
struct SamplingGateSettings {
  /// Submissions under way at a time.
  std::size_t max_submissions = 400;

  /// The same among those that were let through shortly after a refusal.
  std::size_t max_throttled = 10;

  /// Estimated bytes on their way at a time; a single sample may overdraw them.
  std::int64_t bytes = 10'485'760;

  /// A sample counts this many times its size shortly after a refusal.
  std::int64_t throttled_factor = 20;

  /// How long after a refusal's wait "shortly after" lasts.
  std::chrono::milliseconds recent{10'000};

  /// The wait after a refusal, by the sample's size.
  std::chrono::milliseconds short_wait{1'000};
  std::chrono::milliseconds long_wait{5'000};
  std::int64_t large_bytes = 131'072;

  /// A longer wait asked for by the service is cut to this.
  std::chrono::milliseconds max_wait{60'000};

  /// Those who wait go on up to this share of the wait later, so that they do not come all at once.
  double jitter = 0.25;
};

/// Grants and those who wait for them, first come first served.
struct SamplingGateState {
  using SelfPointer = SamplingGateActor::stateful_pointer<SamplingGateState>;
  using TimePoint = std::chrono::steady_clock::time_point;

  struct Grant {
    caf::actor_addr holder;
    std::int64_t bytes = 0;

    /// What it takes from the balance.
    std::int64_t charge = 0;
    bool throttled = false;

    /// Tells the holder to submit; empty once that is done.
    std::function<void()> go;
  };

  struct Waiter {
    caf::actor_addr holder;
    std::int64_t bytes = 0;
    Owed<std::uint64_t> answer;
  };

  explicit SamplingGateState(SelfPointer ptr) : self(ptr), holders(ptr) {}

  caf::typed_response_promise<std::uint64_t> acquire(std::int64_t bytes);
  caf::typed_response_promise<bool> back_off(std::uint64_t grant, std::chrono::milliseconds asked);
  void release(std::uint64_t grant);
  void resize(std::int64_t bytes);
  void look(std::uint64_t grant);
  void on_down(const caf::actor_addr& holder);

  /// Lets in who may.
  void admit();

  /// Lets a holder submit as soon as no refusal stands against it.
  void pass(std::uint64_t grant);
  [[nodiscard]] bool recently_refused();
  void forget(const Grant& grant);

  SelfPointer self;
  Holders<SamplingGateActor::stateful_base<SamplingGateState>> holders;
  SamplingGateSettings settings;
  std::int64_t balance = 0;
  std::size_t throttled = 0;

  /// Nobody submits before.
  std::optional<TimePoint> closed_until;

  std::map<std::uint64_t, Grant> grants;
  std::deque<Waiter> waiting;
  std::uint64_t last_grant = 0;

  static inline const char* name = "tinkaf.sampling-gate";
};

SamplingGateActor::behavior_type sampling_gate(SamplingGateState::SelfPointer self,
                                               SamplingGateSettings settings);

} // namespace tinkaf

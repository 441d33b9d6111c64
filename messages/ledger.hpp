// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/future.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// What has to be remembered of a session and a training client, so that another actor, or another
// process, can go on where they ended.

namespace tinkaf {

/// A request that has a number.
struct NumberedRequest {
  std::int64_t seq_id = 0;
  RequestType type = RequestType::forward_backward;

  /// The name of its result; absent as long as it is not known whether the service has the request.
  std::optional<FutureRef> accepted;

  /// The sampling session that a save without a name is for.
  std::optional<std::int64_t> sampling_session_seq_id;

  friend bool operator==(const NumberedRequest&, const NumberedRequest&) = default;
};

/// The requests of one turn of a training client, in the order of their numbers. An operation is
/// one turn, a custom loss two: its forward and its backward pass.
using NumberedTurn = std::vector<NumberedRequest>;

/// Asks for a client that goes on with a model in training.
///
/// Whoever attaches asks again for all operations whose results are wanted, in their old order: the
/// first of them takes the numbers of the first open turn, and so on; behind the last open turn,
/// numbers go on with `next_seq_id`. A request whose result has a name is not sent again but waited
/// for; any other is sent under its old number, which the service answers like the first time.
///
/// An operation of other requests than were noted is refused with `Errc::conflict`, which names the
/// number, and so are all behind it: the job is another one. A result that the service no longer
/// has, or never had, is `Errc::future_expired`: nothing is left but to restore a checkpoint.
///
/// Give a ledger that is asked to note the rest; the open turns are in it already.
struct AttachTrainingClient {
  std::string model_id;

  /// The first number that was never used.
  std::int64_t next_seq_id = 1;

  /// Turns whose results are wanted, in the order of their numbers.
  std::vector<NumberedTurn> open;

  /// The model that it is an adapter of, by which lengths are checked before anything is sent. If
  /// empty, the service is asked once.
  std::string base_model = {};
};

/// Checks that there is a model and that all numbers rise.
/// @returns `Errc::invalid_argument` naming the first field that is wrong
[[nodiscard]] Result<void> validate(const AttachTrainingClient& attach);

/// A session to go on with.
///
/// A session that has gone on with one sends signs of life at once. If the service no longer knows
/// it, opening fails with `Errc::not_found` and status 404 or 410.
struct SessionRecord {
  std::string session_id;

  /// The first number of a model that was never used in the session.
  std::int64_t next_model_seq_id = 0;

  /// The first number of a sampling session that was never used.
  std::int64_t next_sampling_session_seq_id = 0;

  friend bool operator==(const SessionRecord&, const SessionRecord&) = default;
};

} // namespace tinkaf

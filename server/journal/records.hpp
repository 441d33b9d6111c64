// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/future.hpp"
#include "messages/session.hpp"
#include "messages/timestamp.hpp"
#include "server/journal/record_log.hpp"
#include "server/run_counts.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

// What the journal of a server says. A session has a log, and each of its models another; both hold
// records of requests, and of what became of them.

namespace tinkaf::server {

/// The numbers are in files: add, but do not change.
enum class RecordKind : std::uint8_t {
  session = 1,    // SessionNote: first in a session's log
  moved = 2,      // TextNote: to this project
  seen = 3,       // TimeNote: the session was alive
  ended = 4,      // TextNote: the session, for this reason
  model = 5,      // ModelNote, and the body of the call that makes it
  unloaded = 6,   // UnloadNote
  sampler = 7,    // SamplerNote
  accepted = 8,   // RequestNote, and the body
  known = 9,      // RequestNote of one whose body is not needed any more
  refused = 10,   // RefusalNote, and the answer
  given_up = 11,  // TimeNote: all numbers that are missing
  snapshot = 12,  // TextNote: the folder that holds the state of the model behind all `known`
  lost = 13,      // TextNote: why the model cannot go on
  done = 14,      // OutcomeNote, and the result
  delivered = 15, // TimeNote
  expired = 16,   // TimeNote: the result is dropped, its id is not
};

struct SessionNote {
  std::string id;
  Timestamp created;
  std::optional<std::string> project_id;
  UserMetadata user_metadata;
  std::optional<std::string> display_name = {};
};

struct TextNote {
  std::string text;
};

/// Of a request, or of the session itself.
struct TimeNote {
  std::string request_id;
  Timestamp time;
};

struct ModelNote {
  std::int64_t number = 0;
  std::string digest;
  std::string request_id;
  RequestType type = RequestType::create_model;
  std::string base_model;

  /// With a seed.
  LoraConfig config;
};

struct UnloadNote {
  std::string model_id;

  /// Empty if no request asked for it.
  std::string request_id;
  std::string reason;
};

struct SamplerNote {
  std::int64_t number = 0;
  std::string digest;
  std::string base_model;
  std::optional<std::string> model_path;

  /// Name of the folder with the weights; absent for the base itself.
  std::optional<std::string> weights;

  /// Tells weights apart: samplers with the same text share them in memory.
  std::string version;

  /// The run that the weights are of; empty for the base itself.
  std::string run_id;
};

struct RequestNote {
  std::string request_id;
  RequestType type = RequestType::forward_backward;
  std::optional<std::int64_t> number;
  std::string digest;

  /// Of a sample: its sampler, or nothing.
  std::string sampler;
  bool protobuf = false;
};

struct RefusalNote {
  std::int64_t number = 0;
  std::string digest;
  std::int64_t status = 0;
};

struct OutcomeNote {
  std::string request_id;
  RequestType type = RequestType::forward_backward;
  Timestamp time;
  bool failed = false;
  std::string content_type;

  /// Of the run that the request belongs to, if it used any.
  std::optional<RunCounts> counts = {};
};

/// A note as the text that `Record::note` holds.
[[nodiscard]] std::string to_text(const SessionNote& x);
[[nodiscard]] std::string to_text(const TextNote& x);
[[nodiscard]] std::string to_text(const TimeNote& x);
[[nodiscard]] std::string to_text(const ModelNote& x);
[[nodiscard]] std::string to_text(const UnloadNote& x);
[[nodiscard]] std::string to_text(const SamplerNote& x);
[[nodiscard]] std::string to_text(const RequestNote& x);
[[nodiscard]] std::string to_text(const RefusalNote& x);
[[nodiscard]] std::string to_text(const OutcomeNote& x);

/// Reads a note back. Defined for the types above.
/// @returns `Errc::io_error`
template <class T>
[[nodiscard]] Result<T> from_text(std::string_view text);

/// Adds a record to a log. @returns as `RecordLog::append`
template <class Note>
[[nodiscard]] Result<void> append(RecordLog& log, RecordKind kind, const Note& note,
                                  std::string_view bytes = {}) {
  const auto text = to_text(note);
  return log.append({static_cast<std::uint8_t>(kind), text, bytes});
}

} // namespace tinkaf::server

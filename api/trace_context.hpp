// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/http/http_message.hpp"
#include "messages/error.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace tinkaf {

/// Whether requests carry the headers of W3C Trace Context, and of which trace.
struct TraceOptions {
  bool enabled = false;

  /// The trace to join, as a `traceparent` header of version 00: its trace id and flags are taken.
  /// If empty, the session draws a trace id of its own.
  std::string traceparent;

  /// Sent along as it is; empty for none.
  std::string tracestate;

  friend bool operator==(const TraceOptions&, const TraceOptions&) = default;
};

/// Makes the headers: one trace id for all requests, a new parent id for each.
///
/// See https://www.w3.org/TR/trace-context/. Not thread-safe.
class TraceContext {
public:
  /// @returns nothing if tracing is off; `Errc::invalid_argument` if `traceparent` is not of the
  ///   form `00-<32 hex digits>-<16 hex digits>-<2 hex digits>`, in lower case, with ids that are
  ///   not 0, or `tracestate` holds what a header cannot
  [[nodiscard]] static Result<std::optional<TraceContext>> create(const TraceOptions& options);

  /// Adds `traceparent` and `tracestate`, unless one of these headers is there already.
  void add_to(HttpHeaders& headers);

  /// 32 hex digits.
  [[nodiscard]] const std::string& trace_id() const noexcept {
    return trace_id_;
  }

private:
  TraceContext() = default;

  std::string trace_id_;
  std::string flags_ = "01";
  std::string tracestate_;
  std::mt19937_64 random_{std::random_device{}()};
};

} // namespace tinkaf

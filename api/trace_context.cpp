// SPDX-License-Identifier: Apache-2.0
#include "api/trace_context.hpp"

#include "api/headers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

namespace tinkaf {

namespace {

constexpr std::size_t trace_id_digits = 32;
constexpr std::size_t parent_id_digits = 16;
constexpr std::size_t traceparent_size = 55;

bool is_hex(std::string_view text) noexcept {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

/// An id of hex digits that are not all 0.
bool is_id(std::string_view text) noexcept {
  return is_hex(text) && text.find_first_not_of('0') != std::string_view::npos;
}

bool is_traceparent(std::string_view text) noexcept {
  return text.size() == traceparent_size && text.starts_with("00-")
         && is_id(text.substr(3, trace_id_digits)) && text[35] == '-'
         && is_id(text.substr(36, parent_id_digits)) && text[52] == '-' && is_hex(text.substr(53));
}

} // namespace

Result<std::optional<TraceContext>> TraceContext::create(const TraceOptions& options) {
  if (!options.enabled)
    return std::optional<TraceContext>{};
  TraceContext context;
  if (options.traceparent.empty()) {
    context.trace_id_ = fmt::format("{:016x}{:016x}", context.random_() | 1U, context.random_());
  } else if (is_traceparent(options.traceparent)) {
    context.trace_id_ = options.traceparent.substr(3, trace_id_digits);
    context.flags_ = options.traceparent.substr(traceparent_size - 2);
  } else {
    return fail(Errc::invalid_argument,
                fmt::format("trace.traceparent is `{}`, but must have the form "
                            "00-<32 hex digits>-<16 hex digits>-<2 hex digits>",
                            options.traceparent));
  }
  auto printable = std::all_of(options.tracestate.begin(), options.tracestate.end(),
                               [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable)
    return fail(Errc::invalid_argument, "trace.tracestate holds a character that is not printable");
  context.tracestate_ = options.tracestate;
  return std::optional{std::move(context)};
}

void TraceContext::add_to(HttpHeaders& headers) {
  // Somebody's own trace is not to be mixed with ours.
  if (has_header(headers, "traceparent") || has_header(headers, "tracestate"))
    return;
  headers.emplace_back("traceparent",
                       fmt::format("00-{}-{:016x}-{}", trace_id_, random_() | 1U, flags_));
  if (!tracestate_.empty())
    headers.emplace_back("tracestate", tracestate_);
}

} // namespace tinkaf

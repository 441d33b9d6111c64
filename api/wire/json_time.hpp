// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/wire/json_describe.hpp"
#include "api/wire/rfc3339.hpp"

#include <optional>
#include <string_view>

// Times in bodies.

namespace tinkaf::wire {

/// Reads the time at hand.
inline void read_time(JsonReader& v, Timestamp& x) {
  const auto& found = v.current();
  std::optional<Timestamp> time;
  if (found.IsString())
    time = parse_rfc3339(text_of(found));
  else if (found.IsNumber())
    time = from_unix_number(found.GetDouble());
  if (time)
    x = *time;
  else
    v.expected("a time of RFC 3339 or a Unix time");
}

template <JsonVisitor V>
void visit_time(V& v, std::string_view name, Visited<V, Timestamp>& x) {
  if constexpr (V::writing) {
    v.field(name, to_rfc3339(x));
  } else if (const auto* found = v.member(name)) {
    v.within(name, *found, [&] { read_time(v, x); });
  } else {
    v.miss(name);
  }
}

/// The same, left out if absent.
template <JsonVisitor V>
void visit_optional_time(V& v, std::string_view name, Visited<V, std::optional<Timestamp>>& x) {
  if constexpr (V::writing) {
    if (x)
      v.field(name, to_rfc3339(*x));
  } else if (const auto* found = v.member(name)) {
    v.within(name, *found, [&] { read_time(v, x.emplace()); });
  }
}

} // namespace tinkaf::wire

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/wire/json_reader.hpp"
#include "api/wire/json_writer.hpp"
#include "messages/session.hpp"

#include <concepts>
#include <string_view>
#include <type_traits>

namespace tinkaf::wire {

/// A reader or a writer of bodies.
template <class V>
concept JsonVisitor = std::same_as<V, JsonReader> || std::same_as<V, JsonWriter>;

/// What a visitor does with a `T`: writers look, readers fill.
template <class V, class T>
using Visited = std::conditional_t<V::writing, const T, T>;

/// Names free text by name; from a request any JSON is taken and kept as its text.
template <JsonVisitor V>
void visit_metadata(V& v, std::string_view name, Visited<V, UserMetadata>& x) {
  if constexpr (V::writing) {
    v.field(name, x);
  } else if (const auto* found = v.member(name)) {
    v.within(name, *found, [&] {
      if (!found->IsObject()) {
        v.expected("an object");
        return;
      }
      for (const auto& entry : found->GetObject())
        x[std::string{text_of(entry.name)}]
            = entry.value.IsString() ? std::string{text_of(entry.value)} : dump(entry.value);
    });
  }
}

/// The same, left out if empty.
template <JsonVisitor V>
void visit_optional_metadata(V& v, std::string_view name, Visited<V, UserMetadata>& x) {
  if (!V::writing || !x.empty())
    visit_metadata(v, name, x);
}

} // namespace tinkaf::wire

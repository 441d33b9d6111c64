// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/wire/json_describe.hpp"
#include "api/wire/json_time.hpp"
#include "messages/rest_checkpoints.hpp"

#include <string>

// Checkpoints, as lists of them and of training runs share them.

namespace tinkaf::wire {

template <JsonVisitor V>
void describe(V& v, Visited<V, Cursor>& x) {
  v.field("offset", x.offset);
  v.field("limit", x.limit);
  v.field("total_count", x.total_count);
}

/// The name of a kind in listings.
[[nodiscard]] constexpr const char* checkpoint_type(CheckpointKind kind) noexcept {
  switch (kind) {
  case CheckpointKind::training:
    return "training";
  case CheckpointKind::sampler:
    return "sampler";
  case CheckpointKind::external:
    return "external";
  }
  return "";
}

template <JsonVisitor V>
void visit_checkpoint_type(V& v, Visited<V, CheckpointKind>& x) {
  if constexpr (V::writing) {
    v.literal("checkpoint_type", checkpoint_type(x));
  } else {
    std::string text;
    v.field("checkpoint_type", text);
    for (const auto kind :
         {CheckpointKind::training, CheckpointKind::sampler, CheckpointKind::external})
      if (text == checkpoint_type(kind)) {
        x = kind;
        return;
      }
    if (const auto* found = v.member("checkpoint_type"))
      v.within("checkpoint_type", *found,
               [&] { v.refuse(R"(must be "training", "sampler" or "external")"); });
  }
}

template <JsonVisitor V>
void describe(V& v, Visited<V, Checkpoint>& x) {
  v.field("checkpoint_id", x.checkpoint_id);
  visit_checkpoint_type(v, x.checkpoint_type);
  visit_time(v, "time", x.time);
  v.field("tinker_path", x.tinker_path);
  v.optional("size_bytes", x.size_bytes);
  v.defaulted("public", x.is_public);
  visit_optional_time(v, "expires_at", x.expires_at);
  visit_optional_metadata(v, "user_metadata", x.user_metadata);
}

} // namespace tinkaf::wire

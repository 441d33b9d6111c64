// SPDX-License-Identifier: Apache-2.0
#pragma once

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

template <JsonVisitor V>
void visit_checkpoint_type(V& v, Visited<V, CheckpointKind>& x) {
  if constexpr (V::writing) {
    v.literal("checkpoint_type", x == CheckpointKind::training ? "training" : "sampler");
  } else {
    std::string text;
    v.field("checkpoint_type", text);
    if (text == "training")
      x = CheckpointKind::training;
    else if (text == "sampler")
      x = CheckpointKind::sampler;
    else if (const auto* found = v.member("checkpoint_type"))
      v.within("checkpoint_type", *found, [&] { v.refuse(R"(must be "training" or "sampler")"); });
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
}

} // namespace tinkaf::wire

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/rest_checkpoints.hpp"
#include "server/state_folder.hpp"

namespace tinkaf::server {

/// A checkpoint as clients are told of it.
[[nodiscard]] inline Checkpoint told_checkpoint(const StoredCheckpoint& x) {
  return {.checkpoint_id = x.path.checkpoint_id(),
          .checkpoint_type = x.path.kind,
          .time = x.info.created,
          .tinker_path = x.path.str(),
          .size_bytes = x.size_bytes,
          .is_public = x.info.is_public,
          .expires_at = x.info.expires,
          .user_metadata = x.info.user_metadata};
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "server/session_table.hpp"

#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace tinkaf::server {

/// What is told of a session.
struct SessionView {
  std::string id;
  bool live = true;

  /// Why it has ended.
  std::string reason = {};

  /// Models and samplers that are there.
  std::size_t models = 0;
  std::size_t samplers = 0;

  /// Since something was heard of it, or since it has ended.
  std::chrono::steady_clock::duration silent{0};
};

/// A session with what its client says of it.
struct KnownSession {
  std::string id;
  SessionNotes notes;
  bool live = true;

  /// How its client says that it ended; empty if it does not.
  std::string how = {};
};

/// What was made in a session.
struct SessionContents {
  SessionView view;
  std::vector<std::string> training_run_ids;
  std::vector<std::string> sampler_ids;
};

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tinkaf::bench {

/// A server that accepts every sample and training step and has its result at once, so that a
/// benchmark sees the cost of the client and of HTTP and nothing else. A training pass gives the
/// result of 128 datums of 2048 tokens. Listens on a free port of the loopback interface; what
/// `PeerProcess::start({"peer"})` runs.
[[nodiscard]] int be_trivial_peer();

} // namespace tinkaf::bench

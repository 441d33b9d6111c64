// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace tinkaf::server {

/// Copies of checkpoints by the keys of the calls that made them, so that a call that is repeated
/// makes no second one. Thread-safe.
class CopyTable {
public:
  struct Copy {
    std::string digest; // of what was asked for
    std::string path;
  };

  /// The path of the copy that was made under a key; if there is none, of the one that `make`
  /// makes. An empty key is never remembered.
  /// @returns `Errc::conflict` if the key stands for another request; the error of `make`
  [[nodiscard]] Result<std::string> once(const std::string& key, const std::string& digest,
                                         const std::function<Result<std::string>()>& make) {
    const std::lock_guard lock{mutex_};
    const auto found = std::find_if(copies_.begin(), copies_.end(),
                                    [&](const auto& x) { return x.first == key; });
    if (!key.empty() && found != copies_.end()) {
      if (found->second.digest != digest)
        return fail(Errc::conflict, "X-Idempotency-Key: was used for another copy");
      return found->second.path;
    }
    auto made = make();
    if (made && !key.empty())
      copies_.push_back({key, {digest, *made}});
    if (copies_.size() > most)
      copies_.pop_front();
    return made;
  }

private:
  static constexpr std::size_t most = 1'000;

  std::mutex mutex_; // also held while a copy is made
  std::deque<std::pair<std::string, Copy>> copies_;
};

} // namespace tinkaf::server

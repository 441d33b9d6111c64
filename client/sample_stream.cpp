// SPDX-License-Identifier: Apache-2.0
#include "client/sample_stream.hpp"

#include "client/access.hpp"

namespace tinkaf {

std::optional<SampleStreamItem> SampleStream::next() const {
  auto answer
      = impl_->runtime->ask<SampleStreamNext>("sample_stream", impl_->actor, atom::next_v).get();
  // An actor that has ended has nothing more to give.
  return answer ? std::move(answer->item) : std::nullopt;
}

void SampleStream::cancel() const {
  caf::anon_send_exit(impl_->actor, caf::exit_reason::user_shutdown);
}

} // namespace tinkaf

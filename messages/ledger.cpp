// SPDX-License-Identifier: Apache-2.0
#include "messages/ledger.hpp"

#include <string>

namespace tinkaf {

Result<void> validate(const AttachTrainingClient& attach) {
  if (attach.model_id.empty())
    return fail(Errc::invalid_argument, "model_id is empty, but a client goes on with a model");
  std::int64_t last = 0;
  for (const auto& turn : attach.open) {
    if (turn.empty())
      return fail(Errc::invalid_argument, "a turn in `open` has no requests");
    for (const auto& request : turn) {
      if (request.seq_id <= last)
        return fail(Errc::invalid_argument, "seq_id " + std::to_string(request.seq_id)
                                                + " in `open` does not come behind "
                                                + std::to_string(last));
      last = request.seq_id;
    }
  }
  if (attach.next_seq_id <= last)
    return fail(Errc::invalid_argument, "next_seq_id is " + std::to_string(attach.next_seq_id)
                                            + ", but must be above " + std::to_string(last)
                                            + ", the last number in use");
  return {};
}

} // namespace tinkaf

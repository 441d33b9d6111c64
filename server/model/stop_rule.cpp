// SPDX-License-Identifier: Apache-2.0
#include "server/model/stop_rule.hpp"

#include <algorithm>
#include <variant>

namespace tinkaf::model {

StopRule::StopRule(const BaseModel& base, const Stop& stop) : base_(&base) {
  if (const auto* one = std::get_if<std::string>(&stop))
    texts_ = {*one};
  else if (const auto* several = std::get_if<std::vector<std::string>>(&stop))
    texts_ = *several;
  else if (const auto* ids = std::get_if<std::vector<Token>>(&stop))
    tokens_ = *ids;
  std::erase(texts_, std::string{});
  for (const auto& x : texts_)
    longest_ = std::max(longest_, x.size());
}

bool StopRule::ends(Token token) {
  const auto among = [token](const std::vector<Token>& list) {
    return std::find(list.begin(), list.end(), token) != list.end();
  };
  if (among(base_->config().eos_token_ids) || among(tokens_))
    return true;
  if (texts_.empty())
    return false;
  // A text may span tokens, but what was searched before need not be searched again.
  tail_ += base_->tokenizer().token_bytes(token);
  for (const auto& x : texts_)
    if (tail_.find(x) != std::string::npos)
      return true;
  if (tail_.size() >= longest_)
    tail_.erase(0, tail_.size() - (longest_ - 1));
  return false;
}

} // namespace tinkaf::model

// SPDX-License-Identifier: Apache-2.0
#include "text/merges.hpp"

#include <queue>
#include <tuple>

namespace tinkaf::text {

namespace {

/// A token in the chain of a piece; merged-away ones have token -1.
struct Link {
  std::int32_t token = -1;
  int previous = -1;
  int next = -1;
};

/// A merge that was possible when it was queued: lowest rank first, then leftmost.
struct Candidate {
  std::int32_t rank = 0;
  int position = 0;
  std::int32_t left = 0;
  std::int32_t right = 0;
  std::int32_t result = 0;

  bool operator>(const Candidate& other) const noexcept {
    return std::tie(rank, position) > std::tie(other.rank, other.position);
  }
};

} // namespace

void Merges::add(std::int32_t left, std::int32_t right, Rule rule) {
  rules_.emplace(key(left, right), rule);
}

void Merges::apply(std::string_view piece, std::vector<std::int32_t>& out) const {
  if (piece.empty())
    return;
  const auto n = static_cast<int>(piece.size());
  std::vector<Link> chain(piece.size());
  for (int i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    chain[at] = {byte_token[static_cast<unsigned char>(piece[at])], i - 1, i + 1 < n ? i + 1 : -1};
  }
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto link = [&](int i) -> Link& { return chain[static_cast<std::size_t>(i)]; };
  const auto consider = [&](int i) {
    if (i < 0 || link(i).next < 0)
      return;
    const auto left = link(i).token;
    const auto right = link(link(i).next).token;
    if (const auto found = rules_.find(key(left, right)); found != rules_.end())
      queue.push({found->second.rank, i, left, right, found->second.result});
  };
  for (int i = 0; i + 1 < n; ++i)
    consider(i);
  while (!queue.empty()) {
    const auto best = queue.top();
    queue.pop();
    auto& left = link(best.position);
    if (left.token != best.left || left.next < 0 || link(left.next).token != best.right)
      continue; // one of the two has been merged since
    auto& right = link(left.next);
    left.token = best.result;
    right.token = -1;
    left.next = right.next;
    if (left.next >= 0)
      link(left.next).previous = best.position;
    consider(left.previous);
    consider(best.position);
  }
  for (int i = 0; i >= 0; i = link(i).next)
    out.push_back(link(i).token);
}

} // namespace tinkaf::text

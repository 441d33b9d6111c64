// SPDX-License-Identifier: Apache-2.0
#include "text/merges.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

namespace tinkaf::text {

namespace {

/// Pieces up to this length are searched from end to end for each merge, which is faster than a
/// queue.
constexpr std::size_t short_piece = 48;

constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();

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

void Merges::reserve(std::size_t rules) {
  std::size_t size = 16;
  while (size < 2 * rules)
    size *= 2;
  if (size <= slots_.size())
    return;
  auto old = std::exchange(slots_, std::vector<Slot>(size));
  for (const auto& slot : old)
    if (slot.pair != empty)
      slots_[slot_of(slot.pair)] = slot;
}

std::size_t Merges::slot_of(std::uint64_t pair) const noexcept {
  const auto mask = slots_.size() - 1;
  // Multiplication spreads neighbouring ids (Fibonacci hashing).
  auto at = static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15ULL) >> 32) & mask;
  while (slots_[at].pair != pair && slots_[at].pair != empty)
    at = (at + 1) & mask;
  return at;
}

void Merges::add(std::int32_t left, std::int32_t right, Rule rule) {
  reserve(count_ + 1);
  auto& slot = slots_[slot_of(key(left, right))];
  if (slot.pair != empty)
    return;
  slot = {key(left, right), rule};
  ++count_;
}

const Merges::Rule* Merges::find(std::int32_t left, std::int32_t right) const noexcept {
  if (slots_.empty())
    return nullptr;
  const auto& slot = slots_[slot_of(key(left, right))];
  return slot.pair == empty ? nullptr : &slot.rule;
}

void Merges::apply(std::string_view piece, std::vector<std::int32_t>& out) const {
  std::string known; // if there are others
  if (!std::all_of(piece.begin(), piece.end(), [this](char x) { return has_token(x); })) {
    std::copy_if(piece.begin(), piece.end(), std::back_inserter(known),
                 [this](char x) { return has_token(x); });
    piece = known;
  }
  if (piece.empty())
    return;
  if (piece.size() <= short_piece)
    apply_short(piece, out);
  else
    apply_long(piece, out);
}

void Merges::apply_short(std::string_view piece, std::vector<std::int32_t>& out) const {
  std::array<std::int32_t, short_piece> tokens;
  std::array<Rule, short_piece> rules; // for a token and the one behind it
  auto n = piece.size();
  for (std::size_t i = 0; i < n; ++i)
    tokens[i] = byte_token[static_cast<unsigned char>(piece[i])];
  const auto consider = [&](std::size_t i) {
    const auto* rule = i + 1 < n ? find(tokens[i], tokens[i + 1]) : nullptr;
    rules[i] = rule != nullptr ? *rule : Rule{never, 0};
  };
  for (std::size_t i = 0; i < n; ++i)
    consider(i);
  while (n > 1) {
    std::size_t best = 0;
    for (std::size_t i = 1; i + 1 < n; ++i)
      if (rules[i].rank < rules[best].rank)
        best = i;
    if (rules[best].rank == never)
      break;
    tokens[best] = rules[best].result;
    --n;
    for (std::size_t i = best + 1; i < n; ++i) {
      tokens[i] = tokens[i + 1];
      rules[i] = rules[i + 1];
    }
    consider(best);
    if (best > 0)
      consider(best - 1);
  }
  out.insert(out.end(), tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(n));
}

void Merges::apply_long(std::string_view piece, std::vector<std::int32_t>& out) const {
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
    if (const auto* rule = find(left, right))
      queue.push({rule->rank, i, left, right, rule->result});
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

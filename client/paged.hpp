// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace tinkaf {

/// One page of a list.
template <class T>
struct Page {
  std::vector<T> entries;

  /// Entries of the whole list, where the service tells.
  std::optional<std::int64_t> total_count;
};

/// Walks a list that the service gives in pages, one page at a time as entries are asked for.
///
/// No entry comes twice, although new ones push those behind them into the next page: entries are
/// told apart by their id. None that is there from beginning to end is left out, although others go
/// and those behind them move up: each page is asked for from the last entry of the page before it,
/// and where that is no longer there, the walk looks at the pages before once more, up to
/// `max_passes` times. It ends at an empty page, at one that holds nothing new at the end of the
/// list, and after a run of pages longer than what is known that holds nothing new, so that a
/// service which keeps answering the same does not keep it going.
///
/// Not thread-safe. A failed call of `next` may be repeated.
template <class T>
class Paged {
public:
  /// Asks for the page with up to `limit` entries from `offset` on.
  using Fetch = std::function<Result<Page<T>>(std::int64_t limit, std::int64_t offset)>;
  using Id = std::function<std::string(const T&)>;

  static constexpr int max_passes = 3;

  /// @param page_size entries to ask for at once; at least 2 are, to see whether pages meet
  /// @param offset where in the list to begin
  Paged(Fetch fetch, Id id, std::int64_t page_size, std::int64_t offset = 0)
      : fetch_(std::move(fetch)), id_(std::move(id)),
        page_size_(std::max<std::int64_t>(page_size, 2)), first_(offset), offset_(offset) {}

  /// A list that cannot be walked: `next` says why.
  explicit Paged(Error refused) : refused_(std::move(refused)) {}

  /// The next entry; nothing at the end.
  [[nodiscard]] Result<std::optional<T>> next() {
    if (refused_)
      return fail(*refused_);
    while (ready_.empty() && !ended_)
      if (auto read = read_page(); !read)
        return fail(std::move(read.error()));
    if (ready_.empty())
      return std::optional<T>{};
    auto entry = std::optional<T>{std::move(ready_.front())};
    ready_.pop_front();
    return entry;
  }

  /// All entries that are left, up to `max_entries` if that is not 0.
  [[nodiscard]] Result<std::vector<T>> all(std::size_t max_entries = 0) {
    std::vector<T> entries;
    while (max_entries == 0 || entries.size() < max_entries) {
      auto entry = next();
      if (!entry)
        return fail(std::move(entry.error()));
      if (!*entry)
        break;
      entries.push_back(std::move(**entry));
    }
    return entries;
  }

  /// Entries of the whole list as the last page told.
  [[nodiscard]] std::optional<std::int64_t> total_count() const noexcept {
    return total_count_;
  }

private:
  Result<void> read_page() {
    auto page = fetch_(page_size_, offset_);
    if (!page)
      return fail(std::move(page.error()));
    if (page->total_count)
      total_count_ = page->total_count;
    auto size = static_cast<std::int64_t>(page->entries.size());
    auto meets = offset_ == first_ || (size > 0 && seen_.contains(id_(page->entries.front())));
    auto shrunk = offset_ != first_ && total_count_ && *total_count_ <= offset_;
    if (size == 0 && (!shrunk || passes_ == max_passes)) {
      ended_ = true;
      return {};
    }
    if (!meets && passes_ < max_passes) {
      // Entries before this page have gone, and others have moved up past it.
      ++passes_;
      offset_ = first_;
      return {};
    }
    take(std::move(page->entries));
    auto at_end = total_count_
                      ? offset_ + size >= *total_count_ && (barren_ > 0 || size < page_size_)
                      : offset_ != first_ && size == 1;
    ended_ = at_end || barren_ > static_cast<std::int64_t>(seen_.size()) + page_size_;
    offset_ += std::max<std::int64_t>(size - 1, 1);
    return {};
  }

  void take(std::vector<T> entries) {
    auto known = static_cast<std::int64_t>(entries.size());
    for (auto& entry : entries) {
      if (!seen_.insert(id_(entry)).second)
        continue;
      --known;
      ready_.push_back(std::move(entry));
    }
    barren_ = known == static_cast<std::int64_t>(entries.size()) ? barren_ + known : 0;
  }

  std::optional<Error> refused_;
  Fetch fetch_;
  Id id_;
  std::int64_t page_size_ = 2;
  std::int64_t first_ = 0;
  std::int64_t offset_ = 0;
  std::unordered_set<std::string> seen_;
  std::deque<T> ready_;
  std::optional<std::int64_t> total_count_;

  /// Entries in a row that were known already.
  std::int64_t barren_ = 0;
  int passes_ = 1;
  bool ended_ = false;
};

} // namespace tinkaf

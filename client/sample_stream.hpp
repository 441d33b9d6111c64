// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/future.hpp"
#include "messages/sample_stream.hpp"

#include <cstddef>
#include <iterator>
#include <memory>
#include <optional>

namespace tinkaf {

/// Samples in the order in which they end, well or not: a failed one stops no other.
///
/// ```cpp
/// for (const auto& [index, sample] : client.sample_stream(source, 64))
///   …
/// ```
///
/// Draws from its source only while there is room, so an endless source is fine, and nothing before
/// the first sample is asked for. Copies are the same stream; when the last one goes away, what is
/// under way is given up. Thread-safe: of several readers each gets other samples.
class SampleStream {
public:
  /// Waits for the next sample; nothing behind the last.
  [[nodiscard]] std::optional<SampleStreamItem> next() const;

  /// Draws no more, and gives up what is under way; `next` then says that there is nothing.
  void cancel() const;

  /// Reads on, each step waiting for the next sample.
  class Iterator {
  public:
    // NOLINTBEGIN(readability-identifier-naming): the names that std::iterator_traits wants
    using iterator_category = std::input_iterator_tag;
    using value_type = SampleStreamItem;
    using difference_type = std::ptrdiff_t;
    using pointer = const SampleStreamItem*;
    using reference = const SampleStreamItem&;
    // NOLINTEND(readability-identifier-naming)

    Iterator() = default;
    explicit Iterator(const SampleStream& stream) : stream_(&stream), item_(stream.next()) {}

    reference operator*() const {
      return *item_;
    }

    pointer operator->() const {
      return &*item_;
    }

    Iterator& operator++() {
      item_ = stream_->next();
      return *this;
    }

    void operator++(int) {
      ++*this;
    }

    /// Only the ends of streams are equal.
    friend bool operator==(const Iterator& a, const Iterator& b) {
      return !a.item_ && !b.item_;
    }

  private:
    const SampleStream* stream_ = nullptr;
    std::optional<SampleStreamItem> item_;
  };

  /// Begins to read, or goes on.
  [[nodiscard]] Iterator begin() const {
    return Iterator{*this};
  }

  [[nodiscard]] Iterator end() const {
    return {};
  }

private:
  friend class SamplingClient;
  struct Impl;
  explicit SampleStream(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  friend struct ClientAccess;

  std::shared_ptr<const Impl> impl_;
};

} // namespace tinkaf

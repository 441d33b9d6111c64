// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstddef>
#include <iterator>
#include <map>
#include <memory>
#include <optional>

#include "engine/engine_client.hpp"
#include "engine/pipeline.hpp"

namespace tinkaf {

/// A schedule as it is being run: an input range of its results, in the order of its operations.
///
/// ```cpp
/// for (const auto& step : execute(client, schedule))
///   if (!step)
///     return fail(step.error().error);
///   else if (const auto* done = std::get_if<TrainDone>(&*step))
///     …
/// ```
///
/// Lazy: nothing is submitted before the first result is asked for. Whenever one is, the next steps
/// are submitted first, then the oldest is waited for. A failure is the last element. Whoever stops
/// reading early leaves up to one step and what rides along unseen; it is done and billed.
///
/// Used by one thread at a time; moves, but is not copied.
class Execution {
public:
  Execution(std::shared_ptr<EngineClient> client, Pipeline pipeline);

  /// Waits for the next result; nothing behind the last, and behind a failure.
  [[nodiscard]] std::optional<Step> next();

  class Iterator {
  public:
    using iterator_concept = std::input_iterator_tag;
    using iterator_category = std::input_iterator_tag;
    using value_type = Step;
    using difference_type = std::ptrdiff_t;
    using pointer = Step*;
    using reference = Step&;

    Iterator() = default;
    explicit Iterator(Execution& execution) : execution_(&execution) {}

    reference operator*() const {
      return *execution_->current_;
    }

    pointer operator->() const {
      return &*execution_->current_;
    }

    Iterator& operator++() {
      execution_->current_ = execution_->next();
      return *this;
    }

    void operator++(int) {
      ++*this;
    }

    bool operator==(std::default_sentinel_t) const {
      return execution_ == nullptr || !execution_->current_;
    }

  private:
    Execution* execution_ = nullptr;
  };

  /// Begins to read, or goes on: waits for the next result.
  [[nodiscard]] Iterator begin() {
    current_ = next();
    return Iterator{*this};
  }

  [[nodiscard]] static std::default_sentinel_t end() noexcept {
    return {};
  }

private:
  std::shared_ptr<EngineClient> client_;
  Pipeline pipeline_;
  std::map<std::uint64_t, AwaitAnswer> open_;
  std::optional<Step> current_;
};

/// Runs a schedule over a client. The schedule is checked first, and priced if there is a cap: what
/// is wrong with it, or does not fit the cap, is the first and only element, and nothing is sent.
/// An empty schedule has no results.
/// @param cap the operations are reserved in it when they are submitted, and spent when they end
[[nodiscard]] Execution execute(std::shared_ptr<EngineClient> client, Schedule schedule,
                                std::shared_ptr<SpendCap> cap = {});

/// The same for a schedule that is made while it runs, perhaps an endless one; each operation is
/// checked, and reserved in the cap, when it is drawn.
[[nodiscard]] Execution execute(std::shared_ptr<EngineClient> client, OpSource source,
                                std::shared_ptr<SpendCap> cap = {});

} // namespace tinkaf

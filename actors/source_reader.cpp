// SPDX-License-Identifier: Apache-2.0
#include "actors/source_reader.hpp"

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace tinkaf {

namespace {

Drawn draw_from(const StoppableSampleSource& source, const std::stop_token& stop) {
  try {
    return source(stop);
  } catch (const std::exception& error) {
    return fail(Errc::internal, "the source of requests threw: " + std::string{error.what()});
  } catch (...) {
    return fail(Errc::internal, "the source of requests threw");
  }
}

} // namespace

/// What the reader and its thread share; the thread may outlive the reader.
struct SourceReader::Shared {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t wanted = 0;
  std::stop_source stop;

  /// Empty behind the last request, and once the reader has ended.
  Deliver deliver;

  /// Waits until there is something to draw; false at the end.
  bool await_turn() {
    std::unique_lock lock{mutex};
    changed.wait(lock, [this] { return wanted > 0 || !deliver; });
    if (!deliver)
      return false;
    --wanted;
    return true;
  }

  void draw_one(const StoppableSampleSource& source) {
    auto drawn = draw_from(source, stop.get_token());
    auto last = !drawn || !*drawn;
    std::lock_guard lock{mutex};
    if (deliver)
      deliver(std::move(drawn));
    if (last)
      deliver = nullptr;
  }

  void fail_with(Error error) {
    std::lock_guard lock{mutex};
    if (deliver)
      deliver(fail(std::move(error)));
    deliver = nullptr;
  }

  [[nodiscard]] bool over() {
    std::lock_guard lock{mutex};
    return !deliver;
  }
};

SourceReader::SourceReader(StoppableSampleSource source, std::shared_ptr<LossThreads> threads,
                           Deliver deliver)
    : shared_(std::make_shared<Shared>()), source_(std::move(source)),
      threads_(std::move(threads)) {
  shared_->deliver = std::move(deliver);
}

SourceReader::~SourceReader() {
  {
    std::lock_guard lock{shared_->mutex};
    shared_->deliver = nullptr;
  }
  shared_->changed.notify_all();
  shared_->stop.request_stop();
}

void SourceReader::draw(std::size_t count) {
  if (!threads_) {
    for (; count > 0 && !shared_->over(); --count)
      shared_->draw_one(source_);
    return;
  }
  {
    std::lock_guard lock{shared_->mutex};
    shared_->wanted += count;
  }
  shared_->changed.notify_all();
  if (!source_)
    return;
  auto started = threads_->run([shared = shared_, source = std::exchange(source_, nullptr)] {
    while (shared->await_turn())
      shared->draw_one(source);
  });
  if (!started)
    shared_->fail_with(std::move(started.error()));
}

} // namespace tinkaf

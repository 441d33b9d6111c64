// SPDX-License-Identifier: Apache-2.0
//
// Why does it take so long? The service tells when it makes something wait, and for what. Here it
// has room for one model, so that a second one waits until the first is unloaded.

#include "client/service.hpp"

#include <condition_variable>
#include <future>
#include <iostream>
#include <mutex>

#include "examples/example_service.hpp"

using namespace tinkaf;

namespace {

/// Prints changes as they come, and lets others wait for the first pause.
class Watcher {
public:
  void on_change(const QueueStateChange& change) {
    std::lock_guard guard{mutex_};
    auto active = change.state == QueueState::active;
    std::cout << to_string(change.type) << (active ? " goes on" : " waits: ") << change.reason
              << '\n';
    released_ = released_ || !active;
    changed_.notify_all();
  }

  /// Ends the wait of those who would wait for a pause that does not come.
  void release() {
    std::lock_guard guard{mutex_};
    released_ = true;
    changed_.notify_all();
  }

  void wait() {
    std::unique_lock lock{mutex_};
    changed_.wait(lock, [this] { return released_; });
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool released_ = false;
};

Result<void> run(const examples::ExampleService& example) {
  auto options = example.options;
  Watcher watcher;
  options.on_queue_state = [&](const QueueStateChange& change) { watcher.on_change(change); };
  auto service = Service::connect(options);
  if (!service)
    return fail(service.error());
  auto first = service->create_lora_training_client(example.model, {.rank = 8});
  if (!first)
    return fail(first.error());

  auto second = std::async(std::launch::async, [&] {
    auto made = service->create_lora_training_client(example.model, {.rank = 8});
    watcher.release(); // a service with more room makes it at once
    return made;
  });
  watcher.wait();
  auto unloaded = first->unload().get();
  auto made = second.get();
  if (!unloaded || !made)
    return fail(unloaded ? made.error() : unloaded.error());
  std::cout << made->model_id() << " is there\n";
  return {};
}

} // namespace

int main() {
  ServerLimits limits;
  limits.max_models = 1;
  limits.poll_hold = std::chrono::milliseconds{100}; // tells soon
  return examples::run_example(run, limits);
}

// SPDX-License-Identifier: Apache-2.0
#include "actors/loss_threads.hpp"

#include "actors/own_threads.hpp"

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace tinkaf {

namespace {

class RealThreads : public LossThreads {
public:
  /// @param of_a_client whether its end waits for the threads, so that they must not wait for it
  RealThreads(std::chrono::milliseconds patience, bool of_a_client)
      : patience_(patience), of_a_client_(of_a_client) {}

  ~RealThreads() override {
    std::unique_lock lock{running_->mutex};
    running_->one_ended.wait_for(lock, patience_, [this] { return running_->count == 0; });
  }

  RealThreads(const RealThreads&) = delete;
  RealThreads& operator=(const RealThreads&) = delete;

  Result<void> run(std::function<void()> job) override {
    count(*running_, 1);
    try {
      std::thread{[running = running_, of_a_client = of_a_client_,
                   work = std::move(job)]() mutable {
        if (of_a_client)
          mark_own_thread();
        work();
        work = nullptr; // all that it refers to goes before the end is told
        count(*running, -1);
      }}.detach();
    } catch (const std::system_error& error) {
      count(*running_, -1);
      return fail(Errc::internal,
                  std::string{"there is no thread left for a function of the caller: "}
                      + error.what());
    }
    return {};
  }

private:
  /// Outlives the object with those threads that were not waited for.
  struct Running {
    std::mutex mutex;
    std::condition_variable one_ended;
    int count = 0;
  };

  static void count(Running& running, int change) {
    {
      std::lock_guard lock{running.mutex};
      running.count += change;
    }
    running.one_ended.notify_all();
  }

  std::chrono::milliseconds patience_;
  bool of_a_client_;
  std::shared_ptr<Running> running_ = std::make_shared<Running>();
};

} // namespace

std::shared_ptr<LossThreads> make_loss_threads(std::chrono::milliseconds patience) {
  return std::make_shared<RealThreads>(patience, true);
}

std::shared_ptr<LossThreads> make_job_threads(std::chrono::milliseconds patience) {
  return std::make_shared<RealThreads>(patience, false);
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "api/http/http_client.hpp"

#include "api/http/curl_events.hpp"
#include "api/http/http_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace tinkaf {

namespace {

/// Idle connections that are kept for the next request, at least.
constexpr long max_idle_connections = 128;

/// Handles that are kept for the next request: to make one costs as much as a small request.
constexpr std::size_t max_spare_handles = 128;

bool start_curl() {
  static const auto status = curl_global_init(CURL_GLOBAL_DEFAULT);
  return status == CURLE_OK;
}

/// Signals are for the application's threads; a write to a closed connection is but an error here.
void block_signals() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
}

} // namespace

class HttpClient::Loop {
public:
  Loop(HttpClientOptions options, BaseAddress base, CurlMulti multi)
      : options_(std::move(options)), base_(std::move(base)), multi_(std::move(multi)),
        events_(multi_.get()) {
    if (!events_.ready())
      throw std::runtime_error{"no descriptors left"};
    thread_ = std::thread{[this] {
      block_signals();
      pthread_setname_np(pthread_self(), "tinkaf.curl");
      run();
    }};
  }

  ~Loop() {
    {
      std::lock_guard lock{mutex_};
      stopping_ = true;
    }
    events_.wake();
    thread_.join();
  }

  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  Id submit(HttpRequest request, Callback callback) {
    Id id = 0;
    {
      std::lock_guard lock{mutex_};
      id = ++last_id_;
      submitted_.emplace(id,
                         Job{std::move(request), std::move(callback), HttpTransfer::Clock::now()});
    }
    events_.wake();
    return id;
  }

  void abort(Id id) {
    {
      std::lock_guard lock{mutex_};
      aborted_.push_back(id);
    }
    events_.wake();
  }

private:
  struct Job {
    HttpRequest request;
    Callback callback;
    HttpTransfer::Clock::time_point submitted;
  };

  using Jobs = std::map<Id, Job>;

  void run() {
    while (take_orders()) {
      while (!waiting_.empty() && active_.size() < options_.max_connections)
        start_next();
      events_.wait();
      finish_done();
    }
  }

  /// Takes what other threads want; false once we are to stop and all is answered.
  bool take_orders() {
    std::vector<Id> aborted;
    bool stopping = false;
    {
      std::lock_guard lock{mutex_};
      waiting_.merge(submitted_);
      aborted.swap(aborted_);
      stopping = stopping_;
    }
    if (stopping) {
      cancel_all();
      return false;
    }
    for (auto id : aborted)
      cancel(id);
    return true;
  }

  /// Also answers what callbacks submit meanwhile.
  void cancel_all() {
    while (!active_.empty() || !waiting_.empty()) {
      while (!active_.empty())
        cancel(active_.begin()->first);
      while (!waiting_.empty())
        cancel(waiting_.begin()->first);
      std::lock_guard lock{mutex_};
      waiting_.merge(submitted_);
    }
  }

  void cancel(Id id) {
    if (auto found = active_.find(id); found != active_.end()) {
      auto error = found->second->cancelled();
      end(id, fail(std::move(error)));
    } else if (auto job = waiting_.extract(id)) {
      HttpTransfer unsent{options_, base_, std::move(job.mapped().request),
                          std::move(job.mapped().callback), nullptr};
      unsent.answer(fail(unsent.cancelled()));
    }
  }

  void start_next() {
    auto job = waiting_.extract(waiting_.begin());
    auto id = job.key();
    auto transfer = std::make_unique<HttpTransfer>(options_, base_, std::move(job.mapped().request),
                                                   std::move(job.mapped().callback), take_handle());
    transfer->note_wait(job.mapped().submitted);
    if (auto added = add(*transfer); !added) {
      transfer->answer(fail(std::move(added.error())));
      return;
    }
    ids_.emplace(transfer->handle(), id);
    active_.emplace(id, std::move(transfer));
  }

  Result<void> add(HttpTransfer& transfer) {
    auto prepared = transfer.prepare();
    if (!prepared)
      return prepared;
    // As many connections may idle as were of use at once a moment ago.
    curl_multi_setopt(multi_.get(), CURLMOPT_MAXCONNECTS,
                      std::max(max_idle_connections, static_cast<long>(active_.size()) + 1));
    auto code = curl_multi_add_handle(multi_.get(), transfer.handle());
    if (code != CURLM_OK)
      return fail(Errc::internal,
                  fmt::format("a request cannot be started: {}", curl_multi_strerror(code)));
    return {};
  }

  void finish_done() {
    std::vector<std::pair<Id, CURLcode>> done;
    int left = 0;
    while (auto* message = curl_multi_info_read(multi_.get(), &left))
      if (message->msg == CURLMSG_DONE)
        done.emplace_back(ids_.at(message->easy_handle), message->data.result);
    for (auto [id, code] : done)
      finish(id, code);
  }

  void finish(Id id, CURLcode code) {
    auto& transfer = *active_.at(id);
    auto elsewhere = transfer.redirects(code);
    if (elsewhere && *elsewhere) {
      curl_multi_remove_handle(multi_.get(), transfer.handle());
      auto added = add(transfer);
      if (added)
        return;
      elsewhere = fail(std::move(added.error()));
    }
    auto result = elsewhere ? transfer.finish(code)
                            : Result<HttpResponse>{fail(std::move(elsewhere.error()))};
    end(id, std::move(result));
  }

  void end(Id id, Result<HttpResponse> result) {
    auto found = active_.find(id);
    auto transfer = std::move(found->second);
    active_.erase(found);
    ids_.erase(transfer->handle());
    curl_multi_remove_handle(multi_.get(), transfer->handle());
    transfer->answer(std::move(result));
    if (spare_handles_.size() < max_spare_handles)
      spare_handles_.push_back(transfer->release());
  }

  CurlEasy take_handle() {
    if (spare_handles_.empty())
      return CurlEasy{curl_easy_init()};
    auto handle = std::move(spare_handles_.back());
    spare_handles_.pop_back();
    return handle;
  }

  const HttpClientOptions options_;
  const BaseAddress base_;
  CurlMulti multi_;
  CurlEvents events_;

  // Of the loop's thread alone. Ids grow, so the first of `waiting_` is the oldest.
  Jobs waiting_;
  std::unordered_map<Id, std::unique_ptr<HttpTransfer>> active_;
  std::unordered_map<CURL*, Id> ids_;
  std::vector<CurlEasy> spare_handles_;

  std::mutex mutex_;
  Id last_id_ = 0;
  Jobs submitted_;
  std::vector<Id> aborted_;
  bool stopping_ = false;

  std::thread thread_;
};

HttpClient::HttpClient(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

HttpClient::~HttpClient() = default;

Result<std::unique_ptr<HttpClient>> HttpClient::create(HttpClientOptions options) {
  auto base = BaseAddress::parse(options.base_url);
  if (!base)
    return fail(std::move(base.error()));
  if (options.max_connections == 0)
    return fail(Errc::invalid_argument, "max_connections is 0, but must be at least 1");
  if (!options.ca_file.empty() && !std::ifstream{options.ca_file})
    return fail(Errc::io_error, fmt::format("ca_file `{}` cannot be read", options.ca_file));
  if (!start_curl())
    return fail(Errc::internal, "libcurl cannot be started");
  CurlMulti multi{curl_multi_init()};
  if (!multi)
    return fail(Errc::internal, "out of memory for an HTTP client");
  try {
    auto loop = std::make_unique<Loop>(std::move(options), std::move(*base), std::move(multi));
    return std::unique_ptr<HttpClient>{new HttpClient{std::move(loop)}};
  } catch (const std::exception& problem) {
    return fail(Errc::internal, fmt::format("no thread for an HTTP client: {}", problem.what()));
  }
}

HttpClient::Id HttpClient::submit(HttpRequest request, Callback callback) {
  return loop_->submit(std::move(request), std::move(callback));
}

void HttpClient::abort(Id id) {
  loop_->abort(id);
}

} // namespace tinkaf

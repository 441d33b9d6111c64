// SPDX-License-Identifier: Apache-2.0
#include "api/archive_download.hpp"

#include "api/archive_file.hpp"
#include "api/wire/error_body.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace tinkaf {

namespace {

using Clock = std::chrono::steady_clock;

/// One exchange may take as long as bytes keep coming.
constexpr std::chrono::hours no_limit{24 * 365};

Error stopped() {
  return {.code = Errc::cancelled, .message = "the download was given up"};
}

/// Sleeps; false if a stop was asked for meanwhile.
bool pause(std::chrono::milliseconds time, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock{mutex};
  changed.wait_for(lock, stop, time, [] { return false; });
  return !stop.stop_requested();
}

Result<HttpResponse> exchange(HttpClient& client, HttpRequest request,
                              const std::stop_token& stop) {
  auto promise = std::make_shared<std::promise<Result<HttpResponse>>>();
  auto answer = promise->get_future();
  auto id = client.submit(std::move(request), [promise](Result<HttpResponse> result) {
    promise->set_value(std::move(result));
  });
  std::stop_callback abort{stop, [&] { client.abort(id); }};
  return answer.get();
}

/// An answer outside 2xx, without its body: a store may repeat signatures there.
Error refusal(const HttpResponse& response) {
  auto error = wire::read_error("archive download", response);
  error.code = errc_from_http_status(response.status);
  error.message = fmt::format("the archive cannot be fetched: HTTP {}", response.status);
  return error;
}

/// True if an address may have ended to work, and another one be better.
bool is_about_the_url(int status) noexcept {
  return status == 400 || status == 401 || status == 403 || status == 404 || status == 410;
}

class Download {
public:
  Download(HttpClient& client, const ArchiveUrlSource& source, ArchiveFile& file,
           std::shared_ptr<BodySink> sink, const ArchiveDownloadOptions& options,
           const std::stop_token& stop)
      : client_(client), source_(source), file_(file), sink_(std::move(sink)), options_(options),
        stop_(stop) {}

  Result<std::int64_t> run() {
    if (auto asked = ask_url(); !asked)
      return fail(std::move(asked.error()));
    while (true) {
      auto failure = try_once();
      if (!failure)
        return file_.size();
      if (auto recovered = recover(std::move(*failure)); !recovered)
        return fail(std::move(recovered.error()));
    }
  }

private:
  Result<void> ask_url() {
    ++urls_;
    auto url = source_();
    if (!url)
      return fail(std::move(url.error()));
    url_ = std::move(*url);
    return {};
  }

  /// One exchange; nothing if the archive is complete behind it.
  std::optional<Error> try_once() {
    ++attempts_;
    HttpRequest request{.method = "GET",
                        .path = url_.url,
                        .headers = file_.range_headers(),
                        .timeout = no_limit,
                        .sink = sink_,
                        .stall_timeout = options_.stall_timeout};
    auto response = exchange(client_, std::move(request), stop_);
    if (!response)
      return std::move(response.error());
    if (response->status < 200 || response->status >= 300)
      return refusal(*response);
    if (file_.size() == 0)
      return Error{.code = Errc::protocol_error, .message = "the archive is empty"};
    if (file_.total() && *file_.total() != file_.size())
      return Error{.code = Errc::connection,
                   .message = fmt::format("{} of {} bytes of the archive came", file_.size(),
                                          *file_.total())};
    return std::nullopt;
  }

  /// Does what makes another try worth while, or says why none is.
  Result<void> recover(Error error) {
    if (stop_.stop_requested())
      return fail(stopped());
    if (is_about_the_url(error.http_status) && urls_ < options_.max_urls)
      return ask_url();
    if (error.http_status == 416) {
      // The archive is not what it was.
      if (auto restarted = file_.restart(); !restarted)
        return restarted;
      error.should_retry = true;
    }
    if (file_.size() > best_) {
      best_ = file_.size();
      attempts_ = 1;
      began_ = Clock::now();
    }
    auto elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
    auto delay = options_.retry.next_delay(error, {.attempts = attempts_, .elapsed = elapsed});
    error.attempts = attempts_;
    if (!delay)
      return fail(std::move(error));
    if (!pause(*delay, stop_))
      return fail(stopped());
    auto expired = std::chrono::system_clock::now() >= url_.expires;
    return expired && urls_ < options_.max_urls ? ask_url() : Result<void>{};
  }

  HttpClient& client_;
  const ArchiveUrlSource& source_;
  ArchiveFile& file_;
  std::shared_ptr<BodySink> sink_;
  const ArchiveDownloadOptions& options_;
  const std::stop_token& stop_;

  CheckpointArchiveUrlResponse url_;
  int urls_ = 0;

  // Of the tries in a row that brought nothing new.
  std::uint32_t attempts_ = 0;
  Clock::time_point began_ = Clock::now();
  std::int64_t best_ = 0;
};

} // namespace

Result<std::int64_t> download_archive(HttpClient& client, const ArchiveUrlSource& source,
                                      const std::filesystem::path& path,
                                      const ArchiveDownloadOptions& options,
                                      const std::stop_token& stop) {
  auto file = ArchiveFile::create(path, options.max_bytes, options.progress);
  if (!file)
    return fail(std::move(file.error()));
  return Download{client, source, **file, *file, options, stop}.run();
}

} // namespace tinkaf

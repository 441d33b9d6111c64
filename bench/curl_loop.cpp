// SPDX-License-Identifier: Apache-2.0
#include "bench/curl_loop.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <vector>

namespace tinkaf::bench {

namespace {

constexpr std::string_view sample_body
    = R"({"prompt":{"chunks":[{"type":"encoded_text","tokens":[1,2,3,4]}]},"num_samples":1,)"
      R"("sampling_params":{"temperature":1.0,"top_k":-1,"top_p":1.0},)"
      R"("sampling_session_id":"sampling-1","seq_id":0,"prompt_logprobs":false,"type":"sample"})";
constexpr std::string_view poll_body = R"({"request_id":"sample-1","allow_metadata_only":true})";

std::size_t append(char* data, std::size_t, std::size_t size, void* to) {
  static_cast<std::string*>(to)->append(data, size);
  return size;
}

/// One sample at a time: submits it, then polls.
class Slot {
public:
  Slot(const std::string& url, curl_slist* headers)
      : submit_url_(url + "/api/v1/asample"), poll_url_(url + "/api/v1/retrieve_future"),
        handle_(curl_easy_init(), curl_easy_cleanup) {
    curl_easy_setopt(handle_.get(), CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(handle_.get(), CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(handle_.get(), CURLOPT_POST, 1L);
    curl_easy_setopt(handle_.get(), CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(handle_.get(), CURLOPT_WRITEDATA, &body_);
    curl_easy_setopt(handle_.get(), CURLOPT_PRIVATE, this);
  }

  /// Prepares the next request of the sample; true if that is a submission.
  bool next() {
    submitting_ = !submitting_;
    auto body = submitting_ ? sample_body : poll_body;
    body_.clear();
    curl_easy_setopt(handle_.get(), CURLOPT_URL,
                     submitting_ ? submit_url_.c_str() : poll_url_.c_str());
    curl_easy_setopt(handle_.get(), CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(handle_.get(), CURLOPT_POSTFIELDSIZE, static_cast<long>(body.size()));
    return submitting_;
  }

  [[nodiscard]] bool submitting() const noexcept {
    return submitting_;
  }

  [[nodiscard]] CURL* handle() const noexcept {
    return handle_.get();
  }

private:
  std::string submit_url_;
  std::string poll_url_;
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> handle_;
  std::string body_;
  bool submitting_ = false;
};

} // namespace

double curl_loop(const std::string& url, std::size_t count, std::size_t in_flight) {
  curl_global_init(CURL_GLOBAL_DEFAULT);
  std::unique_ptr<CURLM, decltype(&curl_multi_cleanup)> multi{curl_multi_init(),
                                                              curl_multi_cleanup};
  curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, 1024L);
  std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)> headers{
      curl_slist_append(nullptr, "Content-Type: application/json"), curl_slist_free_all};
  std::vector<std::unique_ptr<Slot>> slots;
  auto left = count;
  auto begin = std::chrono::steady_clock::now();
  auto begin_next = [&](Slot& slot) {
    if (left == 0)
      return;
    --left;
    slot.next();
    curl_multi_add_handle(multi.get(), slot.handle());
  };
  for (std::size_t i = 0; i < std::min(count, in_flight); ++i) {
    slots.push_back(std::make_unique<Slot>(url, headers.get()));
    begin_next(*slots.back());
  }
  std::size_t done = 0;
  while (done < count) {
    int running = 0;
    curl_multi_perform(multi.get(), &running);
    auto any = false;
    int more = 0;
    while (auto* message = curl_multi_info_read(multi.get(), &more)) {
      if (message->msg != CURLMSG_DONE)
        continue;
      any = true;
      long status = 0;
      Slot* slot = nullptr;
      curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, &status);
      curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &slot);
      if (message->data.result != CURLE_OK || status != 200)
        return -1.0;
      curl_multi_remove_handle(multi.get(), slot->handle());
      if (slot->submitting()) {
        slot->next();
        curl_multi_add_handle(multi.get(), slot->handle());
      } else {
        ++done;
        begin_next(*slot);
      }
    }
    if (!any)
      curl_multi_poll(multi.get(), nullptr, 0, 1000, nullptr);
  }
  auto seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (auto& slot : slots)
    curl_multi_remove_handle(multi.get(), slot->handle());
  return seconds;
}

} // namespace tinkaf::bench

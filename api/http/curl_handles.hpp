// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <curl/curl.h>

#include <memory>
#include <new>
#include <string>

// libcurl's handles with owners.

namespace tinkaf {

template <auto Free>
struct CurlDeleter {
  template <class T>
  void operator()(T* handle) const noexcept {
    Free(handle);
  }
};

using CurlMulti = std::unique_ptr<CURLM, CurlDeleter<curl_multi_cleanup>>;
using CurlEasy = std::unique_ptr<CURL, CurlDeleter<curl_easy_cleanup>>;
using CurlList = std::unique_ptr<curl_slist, CurlDeleter<curl_slist_free_all>>;
using CurlUrl = std::unique_ptr<CURLU, CurlDeleter<curl_url_cleanup>>;
using CurlText = std::unique_ptr<char, CurlDeleter<curl_free>>;

/// Appends a copy of `line`.
inline void append(CurlList& list, const std::string& line) {
  auto* longer = curl_slist_append(list.get(), line.c_str());
  if (longer == nullptr)
    throw std::bad_alloc{};
  static_cast<void>(list.release());
  list.reset(longer);
}

} // namespace tinkaf

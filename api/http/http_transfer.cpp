// SPDX-License-Identifier: Apache-2.0
#include "api/http/http_transfer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <utility>

namespace tinkaf {

namespace {

constexpr int max_redirects = 10;

std::string_view trim(std::string_view text) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  auto first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string lower(std::string_view text) {
  std::string out{text};
  for (auto& c : out)
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool is_header_name(std::string_view name) noexcept {
  constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return !name.empty() && std::all_of(name.begin(), name.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || marks.find(c) != marks.npos;
  });
}

/// A line as libcurl wants it, which writes a header without a value in its own way.
std::string header_line(const std::string& name, const std::string& value) {
  return value.empty() ? name + ";" : name + ": " + value;
}

/// Failures that repeating the call cannot cure: the certificate stays as it is.
bool is_about_trust(CURLcode code) noexcept {
  return code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE
         || code == CURLE_SSL_ISSUER_ERROR || code == CURLE_SSL_INVALIDCERTSTATUS;
}

bool is_no_http(CURLcode code) noexcept {
  return code == CURLE_UNSUPPORTED_PROTOCOL || code == CURLE_WEIRD_SERVER_REPLY
         || code == CURLE_BAD_CONTENT_ENCODING;
}

} // namespace

HttpTransfer::HttpTransfer(const HttpClientOptions& options, const BaseAddress& base,
                           HttpRequest request, HttpClient::Callback callback, CurlEasy easy)
    : options_(options), base_(base), request_(std::move(request)), callback_(std::move(callback)),
      url_(base.join(request_.path)), easy_(std::move(easy)) {}

Result<void> HttpTransfer::prepare() {
  if (!easy_)
    return fail(Errc::internal, "out of memory for a request");
  auto origin = origin_of(url_);
  if (!origin)
    return fail(std::move(origin.error()));
  origin_ = *origin;
  auto left = request_.timeout
              - std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - began_);
  if (redirects_ > 0 && left.count() <= 0)
    return fail(error(Errc::timeout, fmt::format("no answer within {} ms, {} redirects included",
                                                 request_.timeout.count(), redirects_)));
  response_ = {};
  reason_[0] = '\0';
  sink_begun_ = false;
  curl_easy_reset(easy_.get());
  set_limits(left);
  set_connection();
  set_method();
  return set_headers(origin_ == base_.origin());
}

void HttpTransfer::set_limits(std::chrono::milliseconds left) {
  curl_easy_setopt(easy_.get(), CURLOPT_TIMEOUT_MS,
                   static_cast<long>(std::max<std::int64_t>(left.count(), 1)));
  if (request_.stall_timeout.count() <= 0)
    return;
  curl_easy_setopt(easy_.get(), CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(easy_.get(), CURLOPT_LOW_SPEED_TIME,
                   static_cast<long>(request_.stall_timeout.count()));
}

void HttpTransfer::set_connection() {
  auto* easy = easy_.get();
  curl_easy_setopt(easy, CURLOPT_PRIVATE, this);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, reason_.data());
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy, CURLOPT_URL, url_.c_str());
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_USERAGENT, options_.user_agent.c_str());
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                   static_cast<long>(std::max<std::int64_t>(options_.connect_timeout.count(), 1)));
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION,
                   options_.force_http1 ? static_cast<long>(CURL_HTTP_VERSION_1_1)
                                        : static_cast<long>(CURL_HTTP_VERSION_2TLS));
  if (options_.proxy)
    curl_easy_setopt(easy, CURLOPT_PROXY, options_.proxy->reveal().c_str());
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, options_.verify_tls ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, options_.verify_tls ? 2L : 0L);
  if (!options_.ca_file.empty())
    curl_easy_setopt(easy, CURLOPT_CAINFO, options_.ca_file.c_str());
  if (!request_.sink)
    curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
  curl_easy_setopt(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, &HttpTransfer::on_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, this);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, &HttpTransfer::on_header);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, this);
}

void HttpTransfer::set_method() {
  auto* easy = easy_.get();
  if (request_.method == "GET") {
    curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    return;
  }
  if (request_.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    return;
  }
  if (request_.body || request_.method == "POST") {
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request_.body ? request_.body->data() : "");
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request_.body ? request_.body->size() : 0));
  }
  if (request_.method != "POST")
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
}

Result<void> HttpTransfer::set_headers(bool with_secrets) {
  header_lines_.reset();
  auto typed = false;
  auto add = [&](const HttpHeaders& headers) -> Result<void> {
    for (const auto& [name, value] : headers) {
      if (!is_header_name(name))
        return fail(error(Errc::invalid_argument, "a header has a name that HTTP does not allow"));
      if (value.find_first_of(std::string_view{"\r\n\0", 3}) != std::string::npos)
        return fail(error(Errc::invalid_argument,
                          fmt::format("the value of header `{}` holds a line end", name)));
      typed = typed || lower(name) == "content-type";
      append(header_lines_, header_line(name, value));
    }
    return {};
  };
  auto added = add(request_.headers);
  if (added && with_secrets)
    added = add(request_.secret_headers);
  if (!added)
    return added;
  // libcurl would add a type of its own, and would wait for leave to send a large body.
  if (!typed)
    append(header_lines_, "Content-Type:");
  if (request_.sink)
    append(header_lines_, "Accept-Encoding: identity");
  append(header_lines_, "Expect:");
  curl_easy_setopt(easy_.get(), CURLOPT_HTTPHEADER, header_lines_.get());
  return {};
}

Result<bool> HttpTransfer::redirects(CURLcode code) {
  if (code != CURLE_OK || !request_.follow_redirects)
    return false;
  long status = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
  auto known = status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
  const auto* location = response_.header("location");
  if (!known || location == nullptr)
    return false;
  if (++redirects_ > max_redirects)
    return fail(error(Errc::protocol_error, fmt::format("more than {} redirects", max_redirects)));
  auto target = resolve(url_, *location);
  if (!target)
    return fail(error(Errc::protocol_error, target.error().message));
  url_ = std::move(*target);
  auto becomes_get
      = status == 303 ? request_.method != "HEAD" : status < 303 && request_.method == "POST";
  if (becomes_get) {
    request_.method = "GET";
    request_.body.reset();
    std::erase_if(request_.headers, [](const auto& header) {
      auto name = lower(header.first);
      return name == "content-type" || name == "content-encoding" || name == "content-length";
    });
  }
  return true;
}

Result<HttpResponse> HttpTransfer::finish(CURLcode code) {
  if (code == CURLE_OK) {
    long status = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    response_.status = static_cast<int>(status);
    curl_off_t ready = 0;
    curl_easy_getinfo(easy_.get(), CURLINFO_PRETRANSFER_TIME_T, &ready);
    response_.queued = std::chrono::duration_cast<std::chrono::microseconds>(waited_)
                       + std::chrono::microseconds{ready};
    response_.elapsed
        = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_);
    if (request_.sink && status >= 200 && status < 300 && !pour({}))
      return fail(*sink_error_);
    return std::move(response_);
  }
  if (sink_error_)
    return fail(std::move(*sink_error_));
  if (too_large_)
    return fail(error(Errc::protocol_error, fmt::format("the answer is larger than {} bytes",
                                                        options_.max_response_bytes)));
  std::string reason = reason_[0] != '\0' ? reason_.data() : curl_easy_strerror(code);
  if (code == CURLE_OPERATION_TIMEDOUT && request_.stall_timeout.count() > 0)
    return fail(error(Errc::timeout, reason));
  if (code == CURLE_OPERATION_TIMEDOUT)
    return fail(error(Errc::timeout,
                      was_sent() ? fmt::format("no answer within {} ms", request_.timeout.count())
                                 : fmt::format("no connection in time: {}", reason)));
  if (is_no_http(code)) {
    auto failure = error(Errc::protocol_error, "the answer is not HTTP as we know it: " + reason);
    failure.should_retry = true; // what stands between us and the service may have failed
    return fail(std::move(failure));
  }
  if (code == CURLE_URL_MALFORMAT)
    return fail(error(Errc::invalid_argument, reason));
  auto failure = error(Errc::connection, reason);
  if (is_about_trust(code))
    failure.should_retry = false;
  return fail(std::move(failure));
}

Error HttpTransfer::cancelled() const {
  return error(Errc::cancelled, "the request was given up before its answer came");
}

void HttpTransfer::answer(Result<HttpResponse> result) noexcept {
  try {
    callback_(std::move(result));
  } catch (...) {
    // Callbacks must not throw; one that does must not take the others' requests with it.
    return;
  }
}

std::size_t HttpTransfer::on_body(char* data, std::size_t size, std::size_t count, void* self) {
  auto& transfer = *static_cast<HttpTransfer*>(self);
  auto& body = transfer.response_.body;
  auto bytes = size * count;
  if (transfer.request_.sink) {
    long status = 0;
    curl_easy_getinfo(transfer.easy_.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status < 300)
      return transfer.pour({data, bytes}) ? bytes : 0;
  }
  if (bytes > transfer.options_.max_response_bytes - body.size()) {
    transfer.too_large_ = true;
    return 0;
  }
  try {
    body.append(data, bytes);
  } catch (...) {
    return 0;
  }
  return bytes;
}

bool HttpTransfer::pour(std::string_view bytes) {
  try {
    auto poured = Result<void>{};
    if (!std::exchange(sink_begun_, true)) {
      long status = 0;
      curl_easy_getinfo(easy_.get(), CURLINFO_RESPONSE_CODE, &status);
      response_.status = static_cast<int>(status);
      poured = request_.sink->begin(response_);
    }
    if (poured && !bytes.empty())
      poured = request_.sink->write(bytes);
    if (!poured)
      sink_error_ = std::move(poured.error());
  } catch (const std::exception& fault) {
    sink_error_ = error(Errc::internal, fault.what());
  }
  return !sink_error_;
}

std::size_t HttpTransfer::on_header(char* data, std::size_t size, std::size_t count, void* self) {
  auto& headers = static_cast<HttpTransfer*>(self)->response_.headers;
  std::string_view line{data, size * count};
  try {
    if (line.starts_with("HTTP/")) {
      headers.clear(); // what came before was interim
    } else if (auto colon = line.find(':'); colon != std::string_view::npos) {
      headers.emplace_back(lower(trim(line.substr(0, colon))), trim(line.substr(colon + 1)));
    }
  } catch (...) {
    return 0;
  }
  return size * count;
}

bool HttpTransfer::was_sent() const noexcept {
  // Set once a connection is up, TLS included, and the request is about to go out.
  curl_off_t ready = 0;
  curl_easy_getinfo(easy_.get(), CURLINFO_PRETRANSFER_TIME_T, &ready);
  return ready > 0;
}

std::string HttpTransfer::place() const {
  return fmt::format("{} {}", request_.method, origin_.empty() ? base_.origin() : origin_);
}

Error HttpTransfer::error(Errc code, std::string message) const {
  return {.code = code,
          .message = fmt::format("{}: {}", place(), message),
          .category = default_category(code),
          .ambiguous = easy_ && was_sent()};
}

} // namespace tinkaf

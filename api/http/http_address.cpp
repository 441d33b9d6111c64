// SPDX-License-Identifier: Apache-2.0
#include "api/http/http_address.hpp"

#include "api/http/curl_handles.hpp"

#include <fmt/format.h>

namespace tinkaf {

namespace {

/// One part of a parsed URL; empty if it has none.
std::string part(CURLU* url, CURLUPart which, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url, which, &text, flags) != CURLUE_OK)
    return {};
  return CurlText{text}.get();
}

/// Never repeats `url` in its error: a whole URL may be signed.
Result<CurlUrl> parse(const std::string& url) {
  CurlUrl parsed{curl_url()};
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK)
    return fail(Errc::invalid_argument, "the URL is malformed");
  auto scheme = part(parsed.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https")
    return fail(Errc::invalid_argument,
                fmt::format("the URL is of the kind `{}`, but must be http or https", scheme));
  return parsed;
}

std::string origin(CURLU* url) {
  return fmt::format("{}://{}:{}", part(url, CURLUPART_SCHEME), part(url, CURLUPART_HOST),
                     part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

bool is_whole_url(std::string_view path) {
  return path.starts_with("http://") || path.starts_with("https://");
}

} // namespace

Result<std::string> origin_of(const std::string& url) {
  return parse(url).map([](const CurlUrl& parsed) { return origin(parsed.get()); });
}

Result<std::string> resolve(const std::string& url, const std::string& location) {
  auto parsed = parse(url);
  if (!parsed)
    return fail(std::move(parsed.error()));
  if (curl_url_set(parsed->get(), CURLUPART_URL, location.c_str(), 0) != CURLUE_OK)
    return fail(Errc::protocol_error, "the answer redirects to a malformed address");
  auto scheme = part(parsed->get(), CURLUPART_SCHEME);
  if (scheme == "http" && url.starts_with("https:"))
    return fail(Errc::protocol_error, "the answer redirects from https to http");
  if (scheme != "http" && scheme != "https")
    return fail(Errc::protocol_error,
                fmt::format("the answer redirects to an address of the kind `{}`", scheme));
  return part(parsed->get(), CURLUPART_URL);
}

Result<BaseAddress> BaseAddress::parse(std::string_view url) {
  if (!is_whole_url(url))
    return fail(Errc::invalid_argument, "base_url must begin with http:// or https://");
  BaseAddress base;
  base.url_ = url;
  while (base.url_.ends_with('/'))
    base.url_.pop_back();
  auto parsed = tinkaf::parse(base.url_);
  if (!parsed)
    return fail(Errc::invalid_argument, "base_url: " + parsed.error().message);
  for (auto [which, name] : {std::pair{CURLUPART_USER, "a user name"},
                             {CURLUPART_PASSWORD, "a password"},
                             {CURLUPART_QUERY, "a query"},
                             {CURLUPART_FRAGMENT, "a fragment"}})
    if (!part(parsed->get(), which).empty())
      return fail(Errc::invalid_argument, fmt::format("base_url must not hold {}", name));
  base.origin_ = tinkaf::origin(parsed->get());
  return base;
}

std::string BaseAddress::join(std::string_view path) const {
  if (is_whole_url(path))
    return std::string{path};
  return path.starts_with('/') ? fmt::format("{}{}", url_, path) : fmt::format("{}/{}", url_, path);
}

} // namespace tinkaf

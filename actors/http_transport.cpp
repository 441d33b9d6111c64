// SPDX-License-Identifier: Apache-2.0
#include "actors/http_transport.hpp"

#include "api/endpoint.hpp"

#include <utility>

namespace tinkaf {

namespace {

class TwoClients : public HttpTransport {
public:
  TwoClients(std::unique_ptr<HttpClient> calls, std::unique_ptr<HttpClient> polls)
      : calls_(std::move(calls)), polls_(std::move(polls)) {}

  std::uint64_t submit(HttpRequest request, HttpClient::Callback callback) override {
    if (request.path == path(Endpoint::retrieve_future))
      return polls_->submit(std::move(request), std::move(callback)) * 2 + 1;
    return calls_->submit(std::move(request), std::move(callback)) * 2;
  }

  void abort(std::uint64_t id) override {
    (id % 2 == 1 ? polls_ : calls_)->abort(id / 2);
  }

private:
  std::unique_ptr<HttpClient> calls_;
  std::unique_ptr<HttpClient> polls_;
};

} // namespace

Result<std::shared_ptr<HttpTransport>> make_http_transport(const ClientOptions& options) {
  auto calls = HttpClient::create(http_client_options(options));
  if (!calls)
    return fail(std::move(calls.error()));
  auto polls = HttpClient::create(http_client_options(options));
  if (!polls)
    return fail(std::move(polls.error()));
  return std::make_shared<TwoClients>(std::move(*calls), std::move(*polls));
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
#include "actors/http_transport.hpp"

#include "api/endpoint.hpp"

#include <array>
#include <string>
#include <utility>

namespace tinkaf {

namespace {

enum Lane : std::size_t { calls, polls, upkeep, lanes };

class ThreeClients : public HttpTransport {
public:
  using Clients = std::array<std::unique_ptr<HttpClient>, lanes>;

  explicit ThreeClients(Clients clients) : clients_(std::move(clients)) {}

  std::uint64_t submit(HttpRequest request, HttpClient::Callback callback) override {
    auto lane = request.path == path(Endpoint::retrieve_future) ? polls
                : is_upkeep(request.path)                       ? upkeep
                                                                : calls;
    return clients_.at(lane)->submit(std::move(request), std::move(callback)) * lanes + lane;
  }

  void abort(std::uint64_t id) override {
    clients_.at(id % lanes)->abort(id / lanes);
  }

private:
  Clients clients_;
};

} // namespace

Result<std::shared_ptr<HttpTransport>> make_http_transport(const ClientOptions& options) {
  ThreeClients::Clients clients;
  for (auto& client : clients) {
    auto created = HttpClient::create(http_client_options(options));
    if (!created)
      return fail(std::move(created.error()));
    client = std::move(*created);
  }
  return std::make_shared<ThreeClients>(std::move(clients));
}

} // namespace tinkaf

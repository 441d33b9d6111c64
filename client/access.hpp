// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "client/rest_client.hpp"
#include "client/runtime.hpp"
#include "client/sample_stream.hpp"
#include "client/sampling_client.hpp"
#include "client/service.hpp"
#include "client/training_client.hpp"

#include <memory>
#include <string>
#include <utility>

// Private to this folder: what stands behind the façade's classes.

namespace tinkaf {

class Service::Impl {
public:
  std::shared_ptr<Runtime> runtime;
  std::string session_id;
};

struct TrainingClient::Impl {
  std::shared_ptr<Runtime> runtime;
  TrainingClientActor actor;
  std::string model_id;
};

struct SamplingClient::Impl {
  std::shared_ptr<Runtime> runtime;
  SamplingClientActor actor;
};

struct RestClient::Impl {
  std::shared_ptr<Runtime> runtime;
  RestClientActor actor;
};

/// Asks a runtime for a REST client and waits until it is ready.
[[nodiscard]] Result<RestClient> make_rest_client(const std::shared_ptr<Runtime>& runtime);

/// Ends the stream's actor, and so all that it has under way, with the last handle.
struct SampleStream::Impl {
  Impl(std::shared_ptr<Runtime> r, SampleStreamActor a)
      : runtime(std::move(r)), actor(std::move(a)) {}

  ~Impl() {
    caf::anon_send_exit(actor, caf::exit_reason::user_shutdown);
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  std::shared_ptr<Runtime> runtime;
  SampleStreamActor actor;
};

/// Makes clients and looks into them.
struct ClientAccess {
  template <class Client>
  static Client make(typename Client::Impl impl) {
    return Client{std::make_shared<const typename Client::Impl>(std::move(impl))};
  }

  template <class Client>
  static const typename Client::Impl& impl(const Client& client) {
    return *client.impl_;
  }
};

} // namespace tinkaf

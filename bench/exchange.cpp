// SPDX-License-Identifier: Apache-2.0
#include "actors/courier.hpp"
#include "actors/session.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/stateful_actor.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/curl_loop.hpp"
#include "bench/peer_process.hpp"

namespace tinkaf::bench {

namespace {

using Clock = std::chrono::steady_clock;

SampleRequest small_request() {
  return {.prompt = ModelInput::from_ints({1, 2, 3, 4}), .sampling_params = {.max_tokens = 4}};
}

/// Keeps samples under way until all are done, then ends, in error if one failed.
struct DriverState {
  explicit DriverState(caf::stateful_actor<DriverState>* ptr) : self(ptr) {}

  void begin_next() {
    if (left == 0)
      return;
    --left;
    self->request(client, caf::infinite, small_request())
        .then(
            [this](const SampleResponse&) {
              if (--unanswered == 0)
                self->quit();
              else
                begin_next();
            },
            [this](const caf::error& error) { self->quit(error); });
  }

  caf::stateful_actor<DriverState>* self;
  SamplingClientActor client;
  std::size_t left = 0;
  std::size_t unanswered = 0;
};

caf::behavior driver(caf::stateful_actor<DriverState>* self, SamplingClientActor client,
                     std::size_t count, std::size_t in_flight) {
  self->state.client = std::move(client);
  self->state.left = count;
  self->state.unanswered = count;
  for (std::size_t i = 0; i < in_flight; ++i)
    self->state.begin_next();
  return {[](atom::poll) {}};
}

/// A sampling client over the peer.
class Clients {
public:
  explicit Clients(const std::string& url) {
    auto session = spawn_session(system_, {.base_url = url, .api_key = Secret{"tml-bench"}});
    if (!session)
      return;
    session_ = *session;
    caf::scoped_actor self{system_};
    self->request(session_, caf::infinite, atom::open_v)
        .receive([](const std::string&) {}, [](const caf::error&) {});
    self->request(session_, caf::infinite, CreateSamplingClient{.base_model = "any"})
        .receive([this](const SamplingClientActor& x) { client_ = x; }, [](const caf::error&) {});
  }

  ~Clients() {
    caf::anon_send_exit(session_, caf::exit_reason::user_shutdown);
  }

  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  /// As `curl_loop`.
  double run(std::size_t count, std::size_t in_flight) {
    if (!client_)
      return -1.0;
    caf::scoped_actor self{system_};
    auto begin = Clock::now();
    auto worker = self->spawn<caf::monitored>(driver, client_, count, in_flight);
    auto seconds = 0.0;
    self->receive([&](const caf::down_msg& down) {
      seconds = down.reason ? -1.0 : std::chrono::duration<double>(Clock::now() - begin).count();
    });
    return seconds;
  }

private:
  caf::actor_system_config config_;
  caf::actor_system system_{configure_for_clients(config_)};
  SessionActor session_;
  SamplingClientActor client_;
};

/// Most memory that this process has held so far, in MiB.
double peak_memory() {
  std::ifstream status{"/proc/self/status"};
  std::string word;
  while (status >> word)
    if (word == "VmHWM:") {
      double kib = 0;
      status >> kib;
      return kib / 1024;
    }
  return 0;
}

double median(std::vector<double> xs) {
  std::sort(xs.begin(), xs.end());
  return xs[xs.size() / 2];
}

} // namespace

void exchange() {
  auto peer = PeerProcess::start({"peer"});
  if (!peer) {
    fmt::print("no peer: {}\n", to_string(peer.error()));
    return;
  }
  Clients clients{peer->url()};
  struct Load {
    std::size_t in_flight;
    std::size_t count;
  };
  fmt::print("samples a second, submitted and polled, against a server that answers at once\n"
             "  in flight   curl loop      actors   ratio (median of 5 rounds)\n");
  for (auto load : std::array<Load, 3>{{{1, 1'000}, {64, 5'000}, {1'024, 5'000}}}) {
    std::vector<double> plain;
    std::vector<double> ours;
    std::vector<double> ratios;
    for (int round = 0; round < 5; ++round) {
      auto a = curl_loop(peer->url(), load.count, load.in_flight);
      auto b = clients.run(load.count, load.in_flight);
      if (a <= 0 || b <= 0) {
        fmt::print("  a request failed\n");
        return;
      }
      plain.push_back(static_cast<double>(load.count) / a);
      ours.push_back(static_cast<double>(load.count) / b);
      ratios.push_back(a / b);
    }
    fmt::print("  {:>9}   {:>9.0f}   {:>9.0f}   {:.2f}\n", load.in_flight, median(plain),
               median(ours), median(ratios));
  }
  auto before = peak_memory();
  if (clients.run(10'000, 10'000) <= 0)
    fmt::print("  a request failed\n");
  fmt::print("10,000 samples in flight: {:.0f} MiB at most, {:.0f} MiB before\n", peak_memory(),
             before);
}

} // namespace tinkaf::bench

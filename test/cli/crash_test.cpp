// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/evidence.hpp"
#include "test/cli/cli_fixture.hpp"

#include <atomic>
#include <future>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <signal.h>

using namespace tinkaf::test;

// Who is killed when is decided by what has passed a proxy between the program and its server, so
// that it is known what was on its way.

namespace {

constexpr int steps = 6;

/// The n-th answered request of a kind.
struct Moment {
  const char* call;
  int count;
};

/// A server, a run that nothing happened to, and runs through a proxy to compare with it.
struct CrashFixture : CliFixture {
  CrashFixture() {
    const auto done = run(command("untroubled", server.address), key);
    INFO(done.err);
    REQUIRE(done.code == 0);
    expected = read_run(folder.path() / "untroubled", state());
    REQUIRE(expected.final);
    REQUIRE_FALSE(expected.weights.empty());
    REQUIRE_FALSE(expected.optimizer.empty());
  }

  [[nodiscard]] static std::vector<std::string> command(const std::string& out,
                                                        const std::string& url) {
    auto result = train(out, steps);
    for (const auto& more :
         {std::string{"--save-every"}, std::string{"2"}, std::string{"--base-url"}, url,
          std::string{"--tokenizer"}, std::string{"model/tokenizer.json"}})
      result.push_back(more);
    return result;
  }

  [[nodiscard]] std::filesystem::path state() const {
    return folder.path() / "served";
  }

  [[nodiscard]] std::uint16_t port() const {
    return static_cast<std::uint16_t>(std::stoi(server.port()));
  }

  /// The same command again ends well, as if nothing had happened.
  void goes_on(const std::string& out, const FaultProxy& proxy, const OperationWatch& watch) {
    const auto done = run(command(out, proxy.url()), key);
    INFO(done.out << done.err);
    CHECK(done.code == 0);
    CHECK(difference(expected, read_run(folder.path() / out, state())).empty());
    CHECK(watch.doubled() == 0);
  }

  std::map<std::string, std::string> key{{"TINKER_API_KEY", "tml-test"},
                                         {"TINKAF_TEST_PACE", "20"}};
  ServeProcess server{*this};
  RunRecord expected;
};

bool is_call(const Exchange& exchange, const Moment& moment) {
  return exchange.target.ends_with(std::string{"/"} + moment.call) && exchange.status < 300;
}

/// Models that a run's checkpoints are of.
std::size_t models_of(const std::string& checkpoints) {
  auto models = std::set<std::string>{};
  const std::string head = "\"state_path\":\"tinker://";
  for (auto at = checkpoints.find(head); at != std::string::npos;
       at = checkpoints.find(head, at + 1)) {
    const auto from = at + head.size();
    models.insert(checkpoints.substr(from, checkpoints.find('/', from) - from));
  }
  return models.size();
}

} // namespace

TEST_CASE_METHOD(CrashFixture,
                 "A run killed between what the server has done and its answer goes on as if "
                 "nothing had happened",
                 "[cli][end-to-end][crash]") {
  const auto moment = GENERATE(Moment{"create_session", 1}, Moment{"create_model", 1},
                               Moment{"forward_backward", 1}, Moment{"forward_backward", 4},
                               Moment{"optim_step", 1}, Moment{"optim_step", 6},
                               Moment{"retrieve_future", 5}, Moment{"save_weights", 1},
                               Moment{"save_weights", 3}, Moment{"save_weights_for_sampler", 1});
  CAPTURE(moment.call, moment.count);
  auto watch = OperationWatch{};
  auto victim = std::promise<Process*>{};
  auto to_kill = victim.get_future().share();
  auto left = std::atomic<int>{moment.count};
  auto proxy = FaultProxy{{}, [&](const Exchange& exchange) {
                            watch.note(exchange);
                            if (is_call(exchange, moment) && --left == 0)
                              to_kill.get()->send(SIGKILL);
                          }};
  proxy.set_server(port());
  {
    auto process = Process{start(command("run", proxy.url()), key)};
    victim.set_value(&process);
    REQUIRE(process.wait().code == 128 + SIGKILL);
  }
  goes_on("run", proxy, watch);
  CHECK(models_of(read_text(folder.path() / "run" / "checkpoints.jsonl")) == 1);
}

TEST_CASE_METHOD(CrashFixture,
                 "A run killed with numbers noted whose requests never arrived sends them then",
                 "[cli][end-to-end][crash]") {
  // Behind the answer to this call nothing gets through.
  const auto moment = GENERATE(Moment{"create_model", 1}, Moment{"forward_backward", 3},
                               Moment{"optim_step", 2}, Moment{"save_weights", 1});
  CAPTURE(moment.call, moment.count);
  auto watch = OperationWatch{};
  auto cut = std::promise<std::uint64_t>{};
  auto left = std::atomic<int>{moment.count};
  FaultProxy* the_proxy = nullptr;
  auto proxy = FaultProxy{{}, [&](const Exchange& exchange) {
                            watch.note(exchange);
                            if (!is_call(exchange, moment) || --left != 0)
                              return;
                            the_proxy->set_server(0);
                            cut.set_value(exchange.request);
                          }};
  the_proxy = &proxy;
  proxy.set_server(port());
  {
    auto process = Process{start(command("run", proxy.url()), key)};
    const auto last = cut.get_future().get();
    // Some of those that come now are the next operation and its repetitions.
    REQUIRE(proxy.wait_for_requests(last + 6, std::chrono::seconds{30}));
    process.send(SIGKILL);
    REQUIRE(process.wait().code == 128 + SIGKILL);
  }
  proxy.set_server(port());
  goes_on("run", proxy, watch);
  CHECK(models_of(read_text(folder.path() / "run" / "checkpoints.jsonl")) == 1);
}

TEST_CASE_METHOD(CrashFixture, "A run killed again and again, each time a few requests later, ends",
                 "[cli][end-to-end][crash]") {
  auto watch = OperationWatch{};
  auto proxy = FaultProxy{{}, [&](const Exchange& exchange) { watch.note(exchange); }};
  proxy.set_server(port());
  auto kills = 0;
  for (std::uint64_t requests = 6; kills < 12; requests += 3, ++kills) {
    auto process = Process{start(command("run", proxy.url()), key)};
    const auto before = proxy.requests();
    if (!proxy.wait_for_requests(before + requests, std::chrono::seconds{5}))
      break; // it had fewer left
    process.send(SIGKILL);
    (void)process.wait();
  }
  CHECK(kills > 2);
  goes_on("run", proxy, watch);
}

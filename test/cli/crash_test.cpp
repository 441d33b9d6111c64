// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/evidence.hpp"
#include "test/cli/cli_fixture.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <set>
#include <string>
#include <utility>
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
  return exchange.target.ends_with(std::string{"/"} + moment.call) && exchange.status >= 200
         && exchange.status < 300;
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
                 "A run killed with a number noted whose request never arrived sends it then",
                 "[cli][end-to-end][crash]") {
  // Behind the answer to this call nothing gets through, and this operation is the first that wants
  // to.
  const auto [moment, held_call, held_number] = GENERATE(table<Moment, const char*, const char*>({
      {Moment{"forward_backward", 1}, "optim_step", "2"},
      {Moment{"optim_step", 2}, "save_weights", "5"},
      {Moment{"forward_backward", 3}, "optim_step", "7"},
      {Moment{"save_weights", 3}, "save_weights_for_sampler", "16"},
  }));
  CAPTURE(moment.call, moment.count);
  auto watch = OperationWatch{};
  auto held = std::promise<Exchange>{};
  auto to_hold = held.get_future();
  auto is_held = false;
  auto arrived = std::vector<Exchange>{};
  auto left = moment.count;
  FaultProxy* the_proxy = nullptr;
  auto proxy = FaultProxy{{}, [&, when = moment](const Exchange& exchange) {
                            watch.note(exchange);
                            const auto numbered = !json_field(exchange.body, "seq_id").empty();
                            if (exchange.status == 0 && numbered && !std::exchange(is_held, true))
                              held.set_value(exchange);
                            if (exchange.status == 200 && numbered)
                              arrived.push_back(exchange);
                            if (is_call(exchange, when) && --left == 0)
                              the_proxy->set_server(0);
                          }};
  the_proxy = &proxy;
  proxy.set_server(port());
  {
    auto process = Process{start(command("run", proxy.url()), key)};
    REQUIRE(to_hold.wait_for(std::chrono::seconds{30}) == std::future_status::ready);
    process.send(SIGKILL);
    REQUIRE(process.wait().code == 128 + SIGKILL);
  }
  const auto lost = to_hold.get();
  CHECK(lost.target == std::string{"POST /api/v1/"} + held_call);
  CHECK(json_field(lost.body, "seq_id") == held_number);
  const auto sent_again = [&] {
    return std::count_if(arrived.begin(), arrived.end(), [&](const Exchange& exchange) {
      return exchange.target == lost.target && exchange.body == lost.body;
    });
  };
  CHECK(sent_again() == 0);
  proxy.set_server(port());
  goes_on("run", proxy, watch);
  CHECK(sent_again() >= 1); // more than once where the answer takes longer than the short wait
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

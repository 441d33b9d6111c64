// SPDX-License-Identifier: Apache-2.0
//
// Runs short training jobs while processes are killed and the network goes wrong, and checks that
// nothing is lost, done twice, hung or leaked.
#include "test/chaos/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

namespace {

using namespace tinkaf::test;

struct Options {
  std::uint64_t trials = 200;
  std::uint64_t first_seed = 1;
  std::size_t jobs = std::max(1U, std::thread::hardware_concurrency());
  ChaosScope scope;
  bool verbose = false;
  std::filesystem::path program = TINKAF_PROGRAM;
};

struct Sum {
  std::size_t trials = 0;
  std::map<Blow, std::size_t> blows;
  std::uint64_t faults = 0;
  std::size_t operations = 0;
  std::size_t failures = 0;
  std::size_t troubled_servers = 0;
  std::map<Work, std::size_t> works;
  std::map<std::string, std::size_t> breaks;
  std::map<Verdict, std::size_t> verdicts;
  std::map<FaultKind, std::uint64_t> kinds;
  std::chrono::milliseconds time{0};

  void add(const Schedule& schedule, const TrialResult& result) {
    ++trials;
    ++works[schedule.job.work];
    troubled_servers += schedule.server.any() ? 1 : 0;
    failures += result.failures;
    for (const auto& [blow, count] : result.blows)
      blows[blow] += count;
    operations += result.operations;
    for (const auto& [kind, count] : result.breaks)
      breaks[kind] += count;
    ++verdicts[result.verdict];
    time += result.time;
    for (const auto& [kind, count] : result.faults) {
      faults += count;
      kinds[kind] += count;
    }
  }
};

constexpr auto usage = R"(Usage: tinkaf_chaos [OPTIONS]

  --trials N   schedules to try [200]
  --seed S     seed of the first; the others follow [1]
  --only WHAT  some troubles only, with commas between: network; kill -9 for client or server;
               actors (of the client break); interrupt (^C for the client); halt (^C twice);
               forget (kill the server and all but checkpoints); test-mode (faults of the
               server's own)
  --jobs N     trials at a time [number of cores]
  --program P  the tinkaf to try [the one built with this]
  --verbose    a line for each trial
)";

[[noreturn]] void refuse(const std::string& text) {
  fmt::print(stderr, "tinkaf_chaos: {}\n{}", text, usage);
  std::exit(2);
}

std::uint64_t number(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const auto value = std::strtoull(text.c_str(), &end, 10);
  if (text.empty() || *end != '\0' || text.front() == '-')
    refuse(fmt::format("{} must be a whole number, but is `{}`", option, text));
  return value;
}

ChaosScope scope_of(std::string text) {
  auto scope = ChaosScope{.network = false, .actors = false, .test_mode = false, .blows = {}};
  text += ',';
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(','));
    text.erase(0, word.size() + 1);
    const auto* const blow
        = std::find_if(blows.begin(), blows.end(), [&](Blow x) { return to_string(x) == word; });
    if (word == "network")
      scope.network = true;
    else if (word == "actors")
      scope.actors = true;
    else if (word == "test-mode")
      scope.test_mode = true;
    else if (blow != blows.end())
      scope.blows.insert(*blow);
    else
      refuse(fmt::format("--only does not take `{}`", word));
  }
  return scope;
}

Options read(const std::vector<std::string>& words) {
  auto options = Options{};
  auto trials_given = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto& option = words[i];
    if (option == "--verbose") {
      options.verbose = true;
      continue;
    }
    if (option == "--help") {
      fmt::print("{}", usage);
      std::exit(0);
    }
    if (i + 1 == words.size())
      refuse(fmt::format("`{}` is unknown or needs a value", option));
    const auto& value = words[++i];
    if (option == "--trials") {
      options.trials = number(option, value);
      trials_given = true;
    } else if (option == "--seed") {
      options.first_seed = number(option, value);
      options.trials = trials_given ? options.trials : 1;
    } else if (option == "--only") {
      options.scope = scope_of(value);
    } else if (option == "--program") {
      options.program = std::filesystem::absolute(value);
    } else if (option == "--jobs") {
      options.jobs = std::max<std::size_t>(1, number(option, value));
    } else {
      refuse(fmt::format("unknown option `{}`", option));
    }
  }
  return options;
}

/// Hands out trials to some threads and adds up.
class Campaign {
public:
  explicit Campaign(Options options)
      : options_(std::move(options)), folder_(std::filesystem::temp_directory_path()
                                              / fmt::format("tinkaf-chaos-{}", ::getpid())) {}

  bool run() {
    auto threads = std::vector<std::thread>{};
    for (std::size_t i = 0; i < std::min<std::uint64_t>(options_.jobs, options_.trials); ++i)
      threads.emplace_back([this, i] { work(folder_ / fmt::format("worker-{}", i)); });
    for (auto& thread : threads)
      thread.join();
    print_sum();
    const auto good = !broken_ && sum_.verdicts[Verdict::good] == options_.trials;
    if (good)
      std::filesystem::remove_all(folder_);
    else
      fmt::print("what the failed trials left is in {}\n", folder_.string());
    return good;
  }

private:
  void work(const std::filesystem::path& folder) {
    try {
      auto trials = Trials{options_.program,
                           std::filesystem::read_symlink("/proc/self/exe").parent_path(), folder};
      for (auto i = next_++; i < options_.trials && !broken_; i = next_++) {
        const auto schedule = draw_schedule(options_.first_seed + i, options_.scope);
        note(schedule, trials.run(schedule));
      }
      if (const auto wrong = trials.end(); !wrong.empty())
        throw std::runtime_error{wrong};
    } catch (const std::exception& fault) {
      fmt::print("broken off: {}\n", fault.what());
      broken_ = true;
    }
  }

  void note(const Schedule& schedule, const TrialResult& result) {
    const auto lock = std::lock_guard{mutex_};
    sum_.add(schedule, result);
    if (options_.verbose || result.verdict != Verdict::good)
      fmt::print("seed {}: {}{}{} ({}; {} ms; server +{} KiB)\n", schedule.seed,
                 to_string(result.verdict), result.reason.empty() ? "" : ", ", result.reason,
                 to_string(schedule), result.time.count(), result.server_growth);
    if (result.verdict != Verdict::good)
      fmt::print("  again: ./dev chaos --seed {}\n", schedule.seed);
    std::fflush(stdout);
  }

  void print_sum() {
    for (const auto& [kind, count] : sum_.kinds)
      fmt::print("{:>8} {}\n", count, to_string(kind));
    std::size_t breaks = 0;
    for (const auto& [kind, count] : sum_.breaks) {
      fmt::print("{:>8} {}\n", count, kind);
      breaks += count;
    }
    for (const auto& [work, count] : sum_.works)
      fmt::print("{:>8} trials of {}\n", count, to_string(work));
    auto& verdicts = sum_.verdicts;
    auto& struck = sum_.blows;
    fmt::print(
        "{} trials of {} ms, {} operations; {} kills of clients, {} interrupts, {} twice; {} "
        "kills of servers, {} with all they knew; {} servers with faults of their own, {} "
        "operations failed there; {} actors broken; {} faults; lost {}, doubled {}, "
        "hung {}, leaked {}\n",
        sum_.trials, sum_.trials == 0 ? 0 : sum_.time.count() / sum_.trials, sum_.operations,
        struck[Blow::client], struck[Blow::interrupt] + struck[Blow::halt], struck[Blow::halt],
        struck[Blow::server] + struck[Blow::forget], struck[Blow::forget], sum_.troubled_servers,
        sum_.failures, breaks, sum_.faults, verdicts[Verdict::lost], verdicts[Verdict::doubled],
        verdicts[Verdict::hung], verdicts[Verdict::leaked]);
  }

  Options options_;
  std::filesystem::path folder_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> broken_{false};
  std::mutex mutex_;
  Sum sum_;
};

} // namespace

int main(int argc, char** argv) {
  return Campaign{read({argv + 1, argv + argc})}.run() ? 0 : 1;
}

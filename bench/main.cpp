// SPDX-License-Identifier: Apache-2.0
//
// Runs the benchmarks named as arguments, or all. Before the names, `--seconds N` says how long
// `jobs` runs.
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/trivial_peer.hpp"

namespace {

using namespace tinkaf;

struct Settings {
  std::chrono::seconds jobs_time{20};
};

struct Benchmark {
  std::string_view name;
  void (*run)(const Settings&);
};

/// A benchmark without settings.
template <void (*function)()>
void plain(const Settings&) {
  function();
}

constexpr auto benchmarks = std::array{
    Benchmark{"encoding", plain<bench::encoding>},
    Benchmark{"gemm", plain<bench::gemm>},
    Benchmark{"losses", plain<bench::losses>},
    Benchmark{"exchange", plain<bench::exchange>},
    Benchmark{"step", plain<bench::step>},
    Benchmark{"model", plain<bench::model>},
    Benchmark{"journal", plain<bench::journal>},
    Benchmark{"polls", plain<bench::polls>},
    Benchmark{"server-log", plain<bench::server_log>},
    Benchmark{"jobs", [](const Settings& settings) { bench::jobs(settings.jobs_time); }},
};

bool run(std::string_view name, const Settings& settings) {
  for (const auto& benchmark : benchmarks)
    if (benchmark.name == name) {
      benchmark.run(settings);
      return true;
    }
  std::fprintf(stderr, "there is no benchmark `%s`\n", std::string{name}.c_str());
  return false;
}

} // namespace

int main(int argc, char** argv) {
  auto words = std::vector<std::string>(argv + 1, argv + argc);
  if (words.size() == 1 && words.front() == "peer")
    return bench::be_trivial_peer();
  if (words.size() == 2 && words.front() == "server")
    return bench::be_small_server(words.back());
  auto settings = Settings{};
  if (words.size() >= 2 && words.front() == "--seconds") {
    const auto seconds = std::atoi(words[1].c_str());
    if (seconds <= 0) {
      std::fprintf(stderr, "--seconds is `%s`, but must be above 0\n", words[1].c_str());
      return 2;
    }
    settings.jobs_time = std::chrono::seconds{seconds};
    words.erase(words.begin(), words.begin() + 2);
  }
  for (const auto& word : words)
    if (!run(word, settings))
      return 2;
  if (words.empty())
    for (const auto& benchmark : benchmarks)
      benchmark.run(settings);
  return 0;
}

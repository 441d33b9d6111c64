// SPDX-License-Identifier: Apache-2.0
//
// Runs the benchmarks named as arguments, or all.
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "bench/benchmarks.hpp"
#include "bench/trivial_peer.hpp"

namespace {

using namespace tinkaf;

struct Benchmark {
  std::string_view name;
  void (*run)();
};

constexpr auto benchmarks = std::array{
    Benchmark{"encoding", bench::encoding}, Benchmark{"gemm", bench::gemm},
    Benchmark{"losses", bench::losses},     Benchmark{"exchange", bench::exchange},
    Benchmark{"step", bench::step},         Benchmark{"journal", bench::journal},
};

bool run(std::string_view name) {
  for (const auto& benchmark : benchmarks)
    if (benchmark.name == name) {
      benchmark.run();
      return true;
    }
  std::fprintf(stderr, "there is no benchmark `%s`\n", std::string{name}.c_str());
  return false;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view{argv[1]} == "peer")
    return bench::be_trivial_peer();
  for (int i = 1; i < argc; ++i)
    if (!run(argv[i]))
      return 2;
  if (argc == 1)
    for (const auto& benchmark : benchmarks)
      benchmark.run();
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
#include "bench/benchmarks.hpp"

int main() {
  tinkaf::bench::gemm();
}

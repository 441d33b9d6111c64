#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# install_test.sh BUILD COMPILER FLAGS: installs to a new folder and uses what is there, as a stranger
# with CMake, one with pkg-config, and one with the command line would.
set -euo pipefail

build="$1" compiler="$2" flags="$3"
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
prefix="$work/prefix"

step() { printf -- '-- %s\n' "$*"; }

step "install"
cmake --install "$build" --prefix "$prefix" >"$work/install.log"
cp -r "$here/consumer" "$work/consumer"
(cd "$prefix/include/tinkaf" && find . -name '*.hpp' | sort | sed 's|^\./\(.*\)$|#include "\1"|') \
  >"$work/consumer/every_header.cpp"
grep -q 'client/service.hpp' "$work/consumer/every_header.cpp"

step "every header that the documents include"
documents=("$prefix"/share/doc/tinkaf/README.md "$prefix"/share/doc/tinkaf/docs/*.md)
grep -ohE '"[a-z_]+/[a-z_]+\.hpp"' "${documents[@]}" | tr -d '"' | sort -u | while read -r header; do
  [[ -e "$prefix/include/tinkaf/$header" ]] || { echo "not installed: $header"; exit 1; }
done

step "a project that finds the CMake package"
cmake -S "$work/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >"$work/configure.log"
cmake --build "$work/build"
"$work/build/consumer" "$prefix/share/tinkaf/models/tiny" "$work/state-1" | tee "$work/first"
grep -q '^loss [0-9.]*$' "$work/first"
grep -q '^tinkaf::train_client, tinkaf::actors: finished$' "$work/first"

step "a program built with pkg-config"
pc="$(dirname "$(find "$prefix" -name tinkaf.pc)")"
read -ra words <<<"$flags $(PKG_CONFIG_PATH="$pc" pkg-config --cflags tinkaf)"
read -ra libraries <<<"$(PKG_CONFIG_PATH="$pc" pkg-config --libs tinkaf)"
"$compiler" "${words[@]}" "$work/consumer/consumer.cpp" "$work/consumer/every_target.cpp" \
  -o "$work/with-pkg-config" "${libraries[@]}"
"$work/with-pkg-config" "$prefix/share/tinkaf/models/tiny" "$work/state-2" >"$work/second"
diff "$work/first" "$work/second"

step "the installed program with the installed model and data"
unset TINKER_API_KEY TINKER_BASE_URL
TINKAF_SHARE_DIR="$prefix/share/tinkaf" "$prefix/bin/tinkaf" demo --steps 1 --out "$work/run" \
  >"$work/demo.log"
test -s "$work/run/metrics.jsonl"

step "Debian packages"
(cd "$build" && cpack -G DEB -B "$work/packages" >"$work/cpack.log") || {
  cat "$work/cpack.log"
  exit 1
}
program="$(find "$work/packages" -maxdepth 1 -name 'tinkaf_*.deb')"
development="$(find "$work/packages" -maxdepth 1 -name 'libtinkaf-dev_*.deb')"
dpkg-deb --field "$program" Depends | grep libcaf-core
dpkg-deb --field "$development" Depends | grep libcaf-dev
dpkg-deb --contents "$program" | grep ' \./usr/bin/tinkaf$'
dpkg-deb --contents "$development" | grep '/tinkaf-config.cmake$'
step "all of it worked"

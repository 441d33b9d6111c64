// SPDX-License-Identifier: Apache-2.0
#include "bench/peer_process.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tinkaf::bench {

namespace {

Error system_error(const char* what, int code) {
  return {Errc::io_error, fmt::format("{}: {}", what, std::strerror(code))};
}

} // namespace

Result<PeerProcess> PeerProcess::start(std::vector<std::string> arguments) {
  std::array<int, 2> to_peer{};
  std::array<int, 2> from_peer{};
  if (pipe(to_peer.data()) != 0 || pipe(from_peer.data()) != 0)
    return fail(system_error("no pipe", errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to_peer[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, from_peer[1], STDOUT_FILENO);
  for (auto fd : {to_peer[0], to_peer[1], from_peer[0], from_peer[1]})
    posix_spawn_file_actions_addclose(&actions, fd);
  auto program = std::string{"/proc/self/exe"};
  auto words = std::vector<char*>{program.data()};
  for (auto& argument : arguments)
    words.push_back(argument.data());
  words.push_back(nullptr);
  PeerProcess peer;
  auto code
      = posix_spawn(&peer.process_, program.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to_peer[0]);
  close(from_peer[1]);
  peer.life_line_ = to_peer[1];
  auto* answer = fdopen(from_peer[0], "r");
  unsigned port = 0;
  auto told = code == 0 && answer != nullptr && std::fscanf(answer, "%u", &port) == 1;
  if (answer != nullptr)
    std::fclose(answer);
  if (!told)
    return fail(system_error("the peer does not start", code));
  peer.url_ = fmt::format("http://127.0.0.1:{}", port);
  return peer;
}

PeerProcess::PeerProcess(PeerProcess&& other) noexcept
    : process_(std::exchange(other.process_, -1)), life_line_(std::exchange(other.life_line_, -1)),
      url_(std::move(other.url_)) {}

PeerProcess::~PeerProcess() {
  if (life_line_ >= 0)
    close(life_line_);
  if (process_ > 0)
    waitpid(process_, nullptr, 0);
}

void serve_until_parent_ends(std::uint16_t port) {
  std::printf("%u\n", static_cast<unsigned>(port));
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

} // namespace tinkaf::bench

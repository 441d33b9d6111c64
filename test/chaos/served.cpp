// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/served.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>
#include <utility>

namespace tinkaf::test {

using namespace std::chrono_literals;

namespace {

/// In KiB. Eight samplers of 14 MiB, working memory and results are kept; a model in training, of
/// which each trial makes one, takes another 14 MiB.
constexpr std::size_t kept_memory = 320 * 1'024;

constexpr std::size_t kept_files = 16;

} // namespace

Served::Served(std::filesystem::path program, std::filesystem::path folder)
    : program_(std::move(program)), folder_(std::move(folder)) {
  std::filesystem::create_directories(folder_);
  start();
}

void Served::start(const std::vector<std::string>& more) {
  // A full disk may keep a server from beginning.
  if (!begin(more) && (more.empty() || !begin({})))
    throw std::runtime_error{"the server does not start, see " + log().string()};
}

bool Served::begin(const std::vector<std::string>& more) {
  auto start = ChildStart{.program = program_,
                          .arguments = {"serve", "--port", "0", "--threads", "1",
                                        "--session-expiry", "5", "--state", state().string()},
                          .folder = folder_,
                          .environment = {{"HOME", folder_.string()}},
                          .log = log(),
                          .read_output = true};
  start.arguments.insert(start.arguments.end(), more.begin(), more.end());
  child_.reset(); // the folder is held by one at a time
  child_ = std::make_unique<Child>(start);
  const std::string mark = "http://127.0.0.1:";
  for (auto line = child_->read_line(30s); !line.empty(); line = child_->read_line(30s)) {
    const auto at = line.find(mark);
    if (at == std::string::npos)
      continue;
    port_ = static_cast<std::uint16_t>(std::stoul(line.substr(at + mark.size())));
    descriptors_ = child_->descriptors();
    memory_ = child_->memory();
    return true;
  }
  return false;
}

void Served::kill() {
  child_->kill();
}

std::optional<int> Served::stop() {
  child_->interrupt();
  const auto code = child_->wait(30s);
  child_->kill();
  return code;
}

void Served::forget() const {
  std::filesystem::remove_all(state() / "journal");
}

void Served::renew() {
  std::filesystem::remove_all(state());
  start();
}

bool Served::let_go() {
  for (auto tries = 0; tries < 500; ++tries) {
    if (child_->descriptors().sockets <= descriptors_.sockets)
      return true;
    std::this_thread::sleep_for(10ms);
  }
  return false;
}

bool Served::shrinks() {
  for (auto tries = 0; tries < 150; ++tries) {
    if (growth() <= kept_memory && child_->descriptors().all <= descriptors_.all + kept_files)
      return true;
    std::this_thread::sleep_for(100ms);
  }
  return false;
}

std::size_t Served::growth() const {
  return std::max(child_->memory(), memory_) - memory_;
}

} // namespace tinkaf::test

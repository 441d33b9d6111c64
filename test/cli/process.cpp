// SPDX-License-Identifier: Apache-2.0
#include "test/cli/process.hpp"

#include <array>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tinkaf::test {

namespace {

std::array<int, 2> make_pipe() {
  auto ends = std::array<int, 2>{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw std::runtime_error{"cannot make a pipe"};
  return ends;
}

/// Appends what comes; false at the end.
bool read_some(int fd, std::string& text) {
  auto buffer = std::array<char, 4096>{};
  const auto count = ::read(fd, buffer.data(), buffer.size());
  if (count > 0)
    text.append(buffer.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::vector<std::string> environment_of(const Start& start) {
  auto result = std::vector<std::string>{"HOME=" + start.folder.string(), "LANG=C.UTF-8"};
  // Sanitizers read their settings from these.
  for (const auto* name : {"PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"})
    if (const auto* value = std::getenv(name); value != nullptr)
      result.push_back(std::string{name} + "=" + value);
  for (const auto& [name, value] : start.environment)
    result.push_back(name + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  auto result = std::vector<char*>{};
  for (auto& text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

} // namespace

Process::Process(const Start& start) {
  auto arguments = start.arguments;
  arguments.insert(arguments.begin(), TINKAF_PROGRAM);
  auto environment = environment_of(start);
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  const auto folder = start.folder.string();
  const auto [out_read, out_write] = make_pipe();
  const auto [err_read, err_write] = make_pipe();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(out_write, STDOUT_FILENO);
    ::dup2(err_write, STDERR_FILENO);
    if (::chdir(folder.c_str()) == 0)
      ::execve(TINKAF_PROGRAM, argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(out_write);
  ::close(err_write);
  out_ = out_read;
  err_ = err_read;
  err_reader_ = std::thread{[this] {
    while (read_some(err_, err_text_)) {
    }
  }};
}

Process::~Process() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  if (err_reader_.joinable())
    err_reader_.join();
  ::close(out_);
  ::close(err_);
}

std::string Process::read_line() {
  auto end = pending_.find('\n');
  while (end == std::string::npos && read_some(out_, pending_))
    end = pending_.find('\n');
  if (end == std::string::npos)
    return {};
  auto line = pending_.substr(0, end);
  pending_.erase(0, end + 1);
  seen_ += line + "\n";
  return line;
}

void Process::send(int signal) const {
  ::kill(pid_, signal);
}

Finished Process::wait() {
  while (read_some(out_, pending_)) {
  }
  err_reader_.join();
  auto status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  const auto code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code, seen_ + pending_, err_text_};
}

Finished run_tinkaf(const Start& start) {
  return Process{start}.wait();
}

} // namespace tinkaf::test

// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/child.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tinkaf::test {

namespace {

std::vector<char*> pointers(std::vector<std::string>& texts) {
  auto result = std::vector<char*>{};
  for (auto& text : texts)
    result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

bool ready(int descriptor, std::chrono::milliseconds limit) {
  auto waiting = pollfd{descriptor, POLLIN, 0};
  return ::poll(&waiting, 1, static_cast<int>(limit.count())) > 0;
}

} // namespace

Child::Child(const ChildStart& start) {
  auto arguments = start.arguments;
  arguments.insert(arguments.begin(), start.program.string());
  auto environment = std::vector<std::string>{};
  for (const auto& [name, value] : start.environment)
    environment.push_back(name + "=" + value);
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  const auto folder = start.folder.string();
  const int log = ::open(start.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  auto ends = std::array<int, 2>{-1, -1};
  if (log < 0 || (start.read_output && ::pipe2(ends.data(), O_CLOEXEC) != 0))
    throw std::runtime_error{"cannot open " + start.log.string() + " or a pipe"};
  const auto parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(start.read_output ? ends[1] : log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == parent && ::chdir(folder.c_str()) == 0)
      ::execve(argv.front(), argv.data(), envp.data());
    ::_exit(127);
  }
  ::close(log);
  if (start.read_output)
    ::close(ends[1]);
  output_ = ends[0];
  process_ = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  if (pid_ < 0 || process_ < 0)
    throw std::runtime_error{"cannot start " + start.program.string()};
}

Child::~Child() {
  kill();
  ::close(process_);
  if (output_ >= 0)
    ::close(output_);
}

std::string Child::read_line(std::chrono::milliseconds limit) {
  auto line = std::string{};
  auto letter = '\0';
  while (ready(output_, limit) && ::read(output_, &letter, 1) == 1 && letter != '\n')
    line += letter;
  return line;
}

void Child::interrupt() const {
  if (!code_)
    ::kill(pid_, SIGINT);
}

void Child::kill() {
  if (code_)
    return;
  ::kill(pid_, SIGKILL);
  (void)wait(std::chrono::hours{1});
}

std::optional<int> Child::wait(std::chrono::milliseconds limit) {
  if (code_ || !ready(process_, limit))
    return code_;
  auto status = 0;
  ::waitpid(pid_, &status, 0);
  code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return code_;
}

Child::Descriptors Child::descriptors() const {
  auto found = Descriptors{};
  auto failed = std::error_code{};
  const auto folder = std::filesystem::path{"/proc"} / std::to_string(pid_) / "fd";
  for (const auto& entry : std::filesystem::directory_iterator{folder, failed}) {
    ++found.all;
    const auto what = std::filesystem::read_symlink(entry.path(), failed).string();
    found.sockets += what.starts_with("socket:") ? 1 : 0;
  }
  return found;
}

std::size_t Child::memory() const {
  auto file = std::ifstream{std::filesystem::path{"/proc"} / std::to_string(pid_) / "status"};
  for (auto line = std::string{}; std::getline(file, line);)
    if (line.starts_with("VmRSS:"))
      return std::stoul(line.substr(6));
  return 0;
}

} // namespace tinkaf::test

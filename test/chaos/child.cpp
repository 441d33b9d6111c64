// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/child.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
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

/// A field of what the system tells of a process; empty if it is gone.
std::string status_of(pid_t process, const std::string& field) {
  auto file = std::ifstream{std::filesystem::path{"/proc"} / std::to_string(process) / "status"};
  for (auto line = std::string{}; std::getline(file, line);)
    if (line.starts_with(field + ":"))
      return line.substr(field.size() + 1);
  return {};
}

bool is_pending(pid_t process, int signal) {
  const auto mask = std::strtoull(status_of(process, "ShdPnd").c_str(), nullptr, 16);
  return (mask >> static_cast<unsigned>(signal - 1) & 1U) != 0;
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
    ::signal(SIGINT, SIG_DFL); // shells let what runs in the background ignore ^C
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
  if (code_)
    return;
  ::kill(pid_, SIGINT);
  // The dead keep what they were not given.
  while (is_pending(pid_, SIGINT) && !ready(process_, std::chrono::milliseconds{1})) {
  }
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

std::string Child::threads() const {
  auto text = std::string{};
  auto failed = std::error_code{};
  const auto folder = std::filesystem::path{"/proc"} / std::to_string(pid_) / "task";
  for (const auto& entry : std::filesystem::directory_iterator{folder, failed}) {
    auto stat = std::string{};
    auto place = std::string{};
    std::getline(std::ifstream{entry.path() / "stat"} >> std::ws, stat);
    std::getline(std::ifstream{entry.path() / "wchan"} >> std::ws, place);
    if (const auto name = stat.rfind(')'); name + 2 < stat.size())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", stat[name + 2], place);
  }
  return text;
}

std::size_t Child::memory() const {
  return std::strtoull(status_of(pid_, "VmRSS").c_str(), nullptr, 10);
}

} // namespace tinkaf::test

// SPDX-License-Identifier: Apache-2.0
#include "api/credential_command.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char** environ; // NOLINT(readability-redundant-declaration)

namespace tinkaf {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t max_output_bytes = 65'536;

/// How often an ended output is followed by a look whether the shell has ended too.
constexpr std::chrono::milliseconds exit_slice{10};

class Descriptor {
public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() {
    close();
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  void set(int number) {
    close();
    number_ = number;
  }

  void close() {
    if (number_ >= 0)
      ::close(number_);
    number_ = -1;
  }

  [[nodiscard]] int get() const noexcept {
    return number_;
  }

private:
  int number_;
};

bool open_pipe(Descriptor& reader, Descriptor& writer) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    return false;
  reader.set(ends[0]);
  writer.set(ends[1]);
  return true;
}

/// Starts `/bin/sh -c command` with `output` for its standard output; 0 if that fails.
pid_t start_shell(const std::string& command, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  std::string shell = "/bin/sh";
  std::string option = "-c";
  std::string text = command;
  std::array<char*, 4> arguments{shell.data(), option.data(), text.data(), nullptr};
  pid_t child = 0;
  auto code
      = ::posix_spawn(&child, shell.c_str(), &actions, &attributes, arguments.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return code == 0 ? child : 0;
}

std::string trimmed(const std::string& text) {
  constexpr auto space = " \t\r\n";
  auto first = text.find_first_not_of(space);
  if (first == std::string::npos)
    return {};
  return text.substr(first, text.find_last_not_of(space) - first + 1);
}

tl::unexpected<Error> no_credential(std::string message) {
  return fail(Errc::unauthenticated, std::move(message));
}

/// One run of the command.
class Run {
public:
  /// @param stop becomes readable when the run is to be given up
  Run(int stop, std::chrono::milliseconds limit)
      : stop_(stop), limit_(limit), deadline_(Clock::now() + limit) {}

  ~Run() {
    if (child_ == 0)
      return;
    ::kill(-child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }

  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Result<Secret> operator()(const std::string& command) {
    Descriptor reader;
    Descriptor writer;
    if (!open_pipe(reader, writer))
      return no_credential("`credential_command` could not be started: no pipe");
    child_ = start_shell(command, writer.get());
    writer.close();
    if (child_ == 0)
      return no_credential("`credential_command` could not be started");
    std::string output;
    if (auto error = read_all(reader.get(), output))
      return fail(std::move(*error));
    if (auto error = wait_for_exit())
      return fail(std::move(*error));
    auto credential = trimmed(output);
    if (credential.empty())
      return no_credential("`credential_command` printed no credential");
    return Secret{std::move(credential)};
  }

private:
  std::optional<Error> read_all(int output, std::string& text) {
    std::array<char, 4'096> buffer{};
    while (true) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
      if (left.count() <= 0)
        return out_of_time();
      std::array<pollfd, 2> watched{pollfd{output, POLLIN, 0}, pollfd{stop_, POLLIN, 0}};
      if (::poll(watched.data(), watched.size(), static_cast<int>(left.count())) < 0
          && errno != EINTR)
        return Error{Errc::unauthenticated, "`credential_command` could not be read"};
      if (watched[1].revents != 0)
        return stopped();
      if (watched[0].revents == 0)
        continue;
      auto count = ::read(output, buffer.data(), buffer.size());
      if (count < 0 && errno == EINTR)
        continue;
      if (count <= 0)
        return std::nullopt;
      text.append(buffer.data(), static_cast<std::size_t>(count));
      if (text.size() > max_output_bytes)
        return Error{
            Errc::unauthenticated,
            fmt::format("`credential_command` printed more than {} bytes", max_output_bytes)};
    }
  }

  /// What the shell started in the background, with an output of its own, may live on.
  std::optional<Error> wait_for_exit() {
    while (::waitpid(child_, nullptr, WNOHANG) == 0) {
      if (Clock::now() >= deadline_)
        return out_of_time();
      pollfd watched{stop_, POLLIN, 0};
      if (::poll(&watched, 1, static_cast<int>(exit_slice.count())) > 0)
        return stopped();
    }
    child_ = 0;
    return std::nullopt;
  }

  [[nodiscard]] Error out_of_time() const {
    return {Errc::unauthenticated,
            fmt::format("`credential_command` had not ended after {} ms and was killed",
                        limit_.count())};
  }

  static Error stopped() {
    return {Errc::cancelled, "the client was shut down before there was a credential"};
  }

  int stop_;
  std::chrono::milliseconds limit_;
  Clock::time_point deadline_;
  pid_t child_ = 0;
};

} // namespace

class CredentialCommand::Worker {
public:
  Worker(std::string command, std::chrono::milliseconds limit)
      : command_(std::move(command)), limit_(limit) {
    open_pipe(stop_, stopper_);
  }

  ~Worker() {
    std::deque<CredentialCallback> unanswered;
    {
      std::lock_guard lock{mutex_};
      stopping_ = true;
      unanswered.swap(waiting_);
    }
    stopper_.close(); // which the other end notices
    changed_.notify_all();
    if (thread_.joinable())
      thread_.join();
    for (auto& callback : unanswered)
      callback(fail(Errc::cancelled, "the client was shut down before there was a credential"));
  }

  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void add(CredentialCallback callback) {
    std::lock_guard lock{mutex_};
    waiting_.push_back(std::move(callback));
    changed_.notify_all();
    if (!thread_.joinable())
      thread_ = std::thread{[this] { work(); }};
  }

private:
  void work() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr); // signals are for the application's threads
    std::unique_lock lock{mutex_};
    while (true) {
      changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
      if (stopping_)
        return;
      auto callback = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      callback(Run{stop_.get(), limit_}(command_));
      lock.lock();
    }
  }

  const std::string command_;
  const std::chrono::milliseconds limit_;
  Descriptor stop_;
  Descriptor stopper_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<CredentialCallback> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

CredentialCommand::CredentialCommand(std::string command, std::chrono::milliseconds limit)
    : worker_(std::make_unique<Worker>(std::move(command), limit)) {}

CredentialCommand::~CredentialCommand() = default;

void CredentialCommand::run(CredentialCallback callback) {
  worker_->add(std::move(callback));
}

} // namespace tinkaf

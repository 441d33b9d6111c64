// SPDX-License-Identifier: Apache-2.0
#include "test/chaos/trial.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <thread>
#include <tuple>
#include <utility>

namespace tinkaf::test {

using namespace std::chrono_literals;

namespace {

constexpr auto base_model = "tinkaf/tiny";
constexpr auto rows_name = "rows.jsonl";
constexpr auto preferences_name = "preferences.jsonl";
constexpr auto prompts_name = "prompts.jsonl";

/// No trial takes a hundredth of it.
constexpr auto patience = 60s;

/// Trials on one state folder, which grows with them.
constexpr std::size_t trials_of_a_folder = 100;

/// How long a command may take to end after ^C; it gives itself 5 s.
constexpr auto stop_patience = 10s;

/// The same behind a second ^C, which wants no time but that of a busy machine.
constexpr auto halt_patience = 3s;

/// How often somebody looks whether a kill is due.
constexpr auto look = 2ms;

void write_rows(const std::filesystem::path& path) {
  auto file = std::ofstream{path};
  for (auto letter = 'a'; letter <= 'h'; ++letter)
    file << fmt::format(R"({{"prompt": "{}", "completion": "{}{}"}})", letter, letter, letter)
         << '\n';
}

void write_preferences(const std::filesystem::path& path) {
  auto file = std::ofstream{path};
  for (auto letter = 'a'; letter <= 'h'; ++letter)
    file << fmt::format(R"({{"prompt": "{}", "chosen": "{}{}", "rejected": "z"}})", letter, letter,
                        letter)
         << '\n';
}

/// To some of these the model has better and worse answers.
void write_prompts(const std::filesystem::path& path) {
  auto file = std::ofstream{path};
  for (const auto* name : {"Ann", "Bob", "Carl", "Dora", "Emil", "Fred", "Greta", "Hugo"})
    file << fmt::format(R"({{"prompt": "Name: {}\nName:", "completion": " {}"}})", name, name)
         << '\n';
}

const char* data_name(Work work) {
  switch (work) {
  case Work::dpo:
    return preferences_name;
  case Work::rl:
  case Work::distill:
    return prompts_name;
  default:
    return rows_name;
  }
}

/// What a command of `tinkaf train` is told besides what all are.
std::vector<std::string> own_words(Work work) {
  switch (work) {
  case Work::rl:
    return {"--group", "4", "--max-tokens", "3", "--reward", "prefix"};
  case Work::distill:
    return {"--group", "2", "--max-tokens", "3", "--teacher", base_model};
  default:
    return {};
  }
}

/// The last line that is no side remark.
std::string last_words(const std::filesystem::path& log) {
  auto file = std::ifstream{log};
  auto last = std::string{};
  for (auto line = std::string{}; std::getline(file, line);)
    if (!line.empty() && !line.starts_with("tinkaf: test mode")
        && !line.starts_with("tinkaf: warning"))
      last = line;
  return last;
}

/// Failures that a server played and a command told of.
std::size_t failures_told(const std::filesystem::path& log) {
  auto file = std::ifstream{log};
  std::size_t told = 0;
  for (auto line = std::string{}; std::getline(file, line);)
    told += line.find(played_failure) != std::string::npos ? 1 : 0;
  return told;
}

/// What a sanitizer has found first, in a program that was built with one.
std::string sanitizer_words(const std::filesystem::path& log) {
  auto file = std::ifstream{log};
  for (auto line = std::string{}; std::getline(file, line);)
    if (line.find("Sanitizer: ") != std::string::npos
        || line.find(": runtime error: ") != std::string::npos)
      return line;
  return {};
}

std::map<std::string, std::size_t> read_breaks(const std::filesystem::path& log) {
  const std::string head = "tinkaf: test mode: breaks a ";
  auto file = std::ifstream{log};
  auto breaks = std::map<std::string, std::size_t>{};
  for (auto line = std::string{}; std::getline(file, line);)
    if (line.starts_with(head))
      ++breaks[line.substr(head.size())];
  return breaks;
}

} // namespace

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
  case Verdict::good:
    return "good";
  case Verdict::lost:
    return "lost";
  case Verdict::doubled:
    return "doubled";
  case Verdict::hung:
    return "hung";
  case Verdict::leaked:
    return "leaked";
  }
  return "unknown";
}

Trials::Trials(std::filesystem::path program, std::filesystem::path programs,
               std::filesystem::path folder)
    : program_(std::move(program)), loop_program_(std::move(programs) / "tinkaf_chaos_loop"),
      folder_(std::move(folder)), server_(program_, folder_) {
  write_rows(folder_ / rows_name);
  write_preferences(folder_ / preferences_name);
  write_prompts(folder_ / prompts_name);
}

ChildStart Trials::command(const ChaosJob& job, const std::string& url,
                           const std::filesystem::path& run) const {
  auto start = ChildStart{.program = program_,
                          .folder = folder_,
                          .environment = {{"HOME", folder_.string()}, {"TINKAF_TEST_PACE", "100"}},
                          .log = run.string() + ".log"};
  auto& words = start.arguments;
  if (is_loop(job.work)) {
    start.program = loop_program_;
    if (job.work != Work::samples)
      words.emplace_back("--custom-loss");
    if (job.work != Work::custom_loss)
      words.emplace_back("--samples");
  } else {
    words = {"train",       std::string{to_string(job.work)},
             "--data",      (folder_ / data_name(job.work)).string(),
             "--batch",     std::to_string(job.batch),
             "--seed",      std::to_string(job.seed),
             "--lora-rank", "2",
             "--lr",        "0.002"};
    const auto own = own_words(job.work);
    words.insert(words.end(), own.begin(), own.end());
  }
  for (const auto& word : {std::string{"--out"}, run.string(), std::string{"--steps"},
                           std::to_string(job.steps), std::string{"--save-every"},
                           std::to_string(job.save_every), std::string{"--base-url"}, url})
    words.push_back(word);
  return start;
}

const RunRecord& Trials::reference(const ChaosJob& job) {
  const auto known = references_.find(job);
  if (known != references_.end())
    return known->second;
  const auto run = folder_
                   / fmt::format("reference-{}-{}-{}-{}-{}", static_cast<int>(job.work), job.steps,
                                 job.batch, job.seed, job.save_every);
  auto client = Child{command(job, fmt::format("http://127.0.0.1:{}", server_.port()), run)};
  auto record = RunRecord{};
  if (client.wait(patience) == 0)
    record = read_run(run, server_.state());
  if (!record.final || record.weights.empty() || record.optimizer.empty()
      || record.progress.empty())
    throw std::runtime_error{"an untroubled run fails: " + last_words(run.string() + ".log")};
  if (job.work != Work::sft && record.samples.empty())
    throw std::runtime_error{"an untroubled run has no samples: " + run.string()};
  if (record.metrics.find("\"num_sequences\":0,") != std::string::npos)
    throw std::runtime_error{"an untroubled run has nothing to learn from: " + run.string()};
  if (is_loop(job.work)
      && (record.archive["adapter_model.safetensors"] != record.weights
          || record.archive["optimizer.safetensors"] != record.optimizer))
    throw std::runtime_error{"an untroubled run has another archive: " + run.string()};
  return references_.emplace(job, std::move(record)).first->second;
}

TrialResult Trials::run(const Schedule& schedule) {
  const auto& expected = reference(schedule.job);
  const auto run = folder_ / fmt::format("run-{}", schedule.seed);
  if (schedule.server.any()) {
    server_.kill();
    server_.start(schedule.server.options());
  }
  const auto began = std::chrono::steady_clock::now();
  auto watch = OperationWatch{};
  auto result = TrialResult{};
  {
    auto proxy = FaultProxy{schedule.faults, [&](const Exchange& x) { watch.note(x); }};
    proxy.set_server(server_.port());
    result = trouble(schedule, proxy, run);
    result.faults = proxy.faults();
  }
  result.time = std::chrono::duration_cast<std::chrono::milliseconds>(
      std::chrono::steady_clock::now() - began);
  result.operations = watch.accepted();
  result.failures = watch.failed();
  result.breaks = read_breaks(run.string() + ".log");
  result.server_growth = server_.growth();
  auto judge = [&](Verdict verdict, std::string reason) {
    if (result.verdict == Verdict::good && !reason.empty())
      std::tie(result.verdict, result.reason) = std::pair{verdict, std::move(reason)};
  };
  if (watch.doubled() > 0) {
    result.verdict = Verdict::doubled; // whatever else came of it
    result.reason = fmt::format("{} operations were accepted twice", watch.doubled());
  } else if (watch.contradictory() > 0) {
    result.verdict = Verdict::doubled;
    result.reason = fmt::format("{} operations have two results, {}", watch.contradictory(),
                                watch.contradiction());
  }
  const auto told = failures_told(run.string() + ".log");
  if (told > result.failures)
    judge(Verdict::doubled,
          fmt::format("{} failed operations were told {} times", result.failures, told));
  const auto silenced = std::any_of(schedule.kills.begin(), schedule.kills.end(),
                                    [](const Kill& kill) { return kill.blow != Blow::server; });
  if (result.failures > 0 && told == 0 && !silenced)
    judge(Verdict::lost, fmt::format("none of {} failures was told", result.failures));
  judge(Verdict::lost, difference(expected, read_run(run, server_.state())));
  if (!server_.let_go())
    judge(Verdict::leaked, "the server keeps descriptors of clients that are gone");
  if (++trials_ % trials_of_a_folder == 0) {
    if (!server_.shrinks())
      judge(Verdict::leaked,
            fmt::format("the server keeps {} KiB or files of sessions that have expired",
                        server_.growth()));
    judge(Verdict::leaked, end());
    server_.renew();
  } else if (schedule.server.any()) {
    judge(Verdict::leaked, end());
    server_.start();
  }
  judge(Verdict::leaked, sanitizer_words(run.string() + ".log"));
  if (result.verdict == Verdict::good) {
    std::filesystem::remove_all(run);
    std::filesystem::remove(run.string() + ".log");
  }
  return result;
}

std::string Trials::end() {
  const auto code = server_.stop();
  if (code == 0)
    return {};
  const auto found = sanitizer_words(server_.log());
  return fmt::format("the server {}: {}",
                     code ? fmt::format("ends with {}", *code) : "does not end after ^C",
                     found.empty() ? last_words(server_.log()) : found);
}

std::string Trials::strike(const Kill& kill, std::unique_ptr<Child>& client,
                           const ChildStart& start, FaultProxy& proxy) {
  switch (kill.blow) {
  case Blow::interrupt:
    client->interrupt();
    if (!client->wait(stop_patience))
      return "the command does not end after ^C, its threads: " + client->threads();
    client = std::make_unique<Child>(start);
    return {};
  case Blow::halt:
    client->interrupt();
    std::this_thread::sleep_for(kill.away);
    client->interrupt();
    if (!client->wait(halt_patience))
      return "the command does not end after a second ^C, its threads: " + client->threads();
    client = std::make_unique<Child>(start);
    return {};
  case Blow::client:
    client->kill();
    client = std::make_unique<Child>(start);
    return {};
  case Blow::server:
  case Blow::forget:
    server_.kill();
    if (kill.blow == Blow::forget)
      server_.forget();
    std::this_thread::sleep_for(kill.away);
    server_.start();
    proxy.set_server(server_.port());
    return {};
  }
  return {};
}

TrialResult Trials::trouble(const Schedule& schedule, FaultProxy& proxy,
                            const std::filesystem::path& run) {
  auto result = TrialResult{};
  auto start = command(schedule.job, proxy.url(), run);
  if (schedule.breaks)
    start.environment["TINKAF_TEST_BREAKS"] = std::to_string(schedule.seed);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  auto client = std::make_unique<Child>(start);
  auto next = schedule.kills.begin();
  // A command whose session is lost, or whose checkpoint finds no room, says so and ends.
  auto repeats = schedule.server.disk_full_writes;
  while (std::chrono::steady_clock::now() < deadline) {
    if (const auto code = client->wait(look)) {
      const auto failed = last_words(start.log).find(played_failure) != std::string::npos;
      if (*code != 0 && (failed || repeats > 0)) {
        repeats -= failed ? 0 : 1;
        client = std::make_unique<Child>(start);
        continue;
      }
      if (*code != 0) {
        result.verdict = Verdict::lost;
        result.reason = fmt::format("exit code {}: {}", *code, last_words(start.log));
      }
      return result;
    }
    if (next == schedule.kills.end() || proxy.requests() < next->request)
      continue;
    std::this_thread::sleep_for(next->delay);
    if (auto wrong = strike(*next, client, start, proxy); !wrong.empty()) {
      result.verdict = Verdict::hung;
      result.reason = std::move(wrong);
      return result;
    }
    ++result.blows[next->blow];
    repeats += next->blow == Blow::forget ? 1 : 0;
    ++next;
  }
  result.verdict = Verdict::hung;
  result.reason = fmt::format("still running after {} s: {}; its threads: {}", patience.count(),
                              last_words(start.log), client->threads());
  return result;
}

} // namespace tinkaf::test

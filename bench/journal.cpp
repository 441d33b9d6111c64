// SPDX-License-Identifier: Apache-2.0
#include "client/service.hpp"
#include "server/server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bench/benchmarks.hpp"
#include "bench/folder.hpp"
#include "journal/job_journal.hpp"
#include "train/batch_plan.hpp"
#include "train/data_row.hpp"
#include "train/render.hpp"

namespace tinkaf::bench {

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// As `tinkaf demo` trains.
constexpr std::size_t steps = 100;
constexpr std::size_t batch_size = 32;
constexpr int rounds = 3;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>{Clock::now() - begin}.count();
}

NumberedTurn turn_of(std::int64_t number) {
  return {{.seq_id = number,
           .type = RequestType::forward_backward,
           .accepted = {},
           .sampling_session_seq_id = {}}};
}

Result<void> single_calls(const fs::path& folder) {
  auto journal = JobJournal::open(folder / "calls.sqlite", {});
  if (!journal)
    return fail(journal.error());
  if (auto begun = (*journal)->begin({{"session", 1, 0}, "model", 0, {}}); !begun)
    return begun;
  auto failed = Result<void>{};
  const auto check = [&failed](const Result<void>& done) {
    if (!done)
      failed = done;
  };
  auto number = std::int64_t{0};
  const auto noted = seconds_per_call([&] { check((*journal)->note(turn_of(++number))); });
  const auto named = seconds_per_call([&] {
    check((*journal)->accepted(number, {"id", "model"}));
  });
  auto step = std::size_t{0};
  const auto settled = seconds_per_call([&] {
    check((*journal)->settle(JobStep{.step = step, .row = std::string(300, 'x')}, 0));
    ++step;
  });
  fmt::print("  {:8.2f} ms  to note a turn: one wait for the disk\n"
             "  {:8.2f} ms  to note the name of its result\n"
             "  {:8.2f} ms  to settle a step\n",
             noted * 1e3, named * 1e3, settled * 1e3);
  return failed;
}

/// What it costs to check a journal that has grown long.
Result<void> long_journal(const fs::path& folder) {
  constexpr std::size_t count = 20'000;
  const auto file = folder / "long.sqlite";
  {
    auto journal = JobJournal::open(file, {});
    if (!journal)
      return fail(journal.error());
    if (auto begun = (*journal)->begin({{"session", 1, 0}, "model", 0, {}}); !begun)
      return begun;
    for (std::size_t step = 0; step < count; ++step)
      if (auto done = (*journal)->settle(JobStep{.step = step, .row = std::string(300, 'x')}, 0);
          !done)
        return done;
  }
  auto failed = Result<void>{};
  const auto opened = seconds_per_call([&] {
    if (const auto journal = JobJournal::open(file, {}); !journal)
      failed = fail(journal.error());
  });
  fmt::print("  {:8.2f} ms  to open a journal of {} steps, all of which is checked\n", opened * 1e3,
             count);
  return failed;
}

/// The training loop's pace: a step is submitted before the result of the one before is awaited.
/// @param journal null for none
/// @returns seconds
Result<double> train(const Service& service, const std::string& model,
                     const std::vector<train::Example>& examples,
                     const std::shared_ptr<JobJournal>& journal) {
  auto client = service.create_lora_training_client(model, {.rank = 32, .seed = 1}, {}, journal);
  if (!client)
    return fail(client.error());
  if (journal)
    if (auto ready = journal->ready({service.session_id(), 1, 0}, client->model_id()); !ready)
      return fail(ready.error());
  struct Open {
    Future<ForwardBackwardOutput> pass;
    Future<OptimStepResponse> step;
  };
  auto open = std::deque<Open>{};
  auto plan = train::BatchPlan{examples.size(), batch_size, 1};
  auto settled = std::size_t{0};
  const auto finish = [&]() -> Result<void> {
    if (auto pass = open.front().pass.get(); !pass)
      return fail(pass.error());
    if (auto step = open.front().step.get(); !step)
      return fail(step.error());
    open.pop_front();
    const auto at = settled++;
    return journal ? journal->settle(JobStep{.step = at, .row = std::string(300, 'x')}, 2)
                   : Result<void>{};
  };
  const auto begin = Clock::now();
  for (std::size_t step = 0; step < steps; ++step) {
    auto data = std::vector<Datum>{};
    for (const auto index : plan.rows_of(step))
      data.push_back(examples[index].datum);
    open.push_back({client->forward_backward(std::move(data)), client->optim_step()});
    if (open.size() > 1)
      if (auto done = finish(); !done)
        return fail(done.error());
  }
  while (!open.empty())
    if (auto done = finish(); !done)
      return fail(done.error());
  return seconds_since(begin);
}

Result<void> whole_run(const fs::path& folder) {
  const auto source = fs::path{TINKAF_BENCH_FOLDER}.parent_path();
  const auto rows = train::read_rows(source / "data" / "demo" / "train.jsonl");
  if (!rows)
    return fail(rows.error());
  auto tokenizer = text::Tokenizer::load(source / "models" / "tiny" / "tokenizer.json");
  if (!tokenizer)
    return fail(tokenizer.error());
  const auto examples = train::render_all(train::Renderer{std::move(*tokenizer)}, *rows, "rows");
  if (!examples)
    return fail(examples.error());
  auto server = Server::start(
      {.state_dir = folder / "state", .models = {{.name = "", .dir = source / "models" / "tiny"}}});
  if (!server)
    return fail(server.error());
  const auto model = (*server)->model_names().front();
  auto service
      = Service::connect({.base_url = (*server)->address(), .api_key = Secret{"tml-bench"}});
  if (!service)
    return fail(service.error());
  auto without = std::vector<double>{};
  auto with = std::vector<double>{};
  for (int round = 0; round < rounds; ++round) {
    auto plain = train(*service, model, *examples, {});
    if (!plain)
      return fail(plain.error());
    without.push_back(*plain);
    auto journal = JobJournal::open(folder / fmt::format("run-{}.sqlite", round), {});
    if (!journal)
      return fail(journal.error());
    const auto shared = std::shared_ptr<JobJournal>{std::move(*journal)};
    if (auto begun = shared->begin({{service->session_id(), 1, 0}, {}, 0, {}}); !begun)
      return begun;
    auto journalled = train(*service, model, *examples, shared);
    if (!journalled)
      return fail(journalled.error());
    with.push_back(*journalled);
  }
  const auto least = [](const auto& x) { return *std::min_element(x.begin(), x.end()); };
  fmt::print("  {:8.2f} s   {} steps of the demo without a journal, the fastest of {}\n"
             "  {:8.2f} s   the same with one: {:+.1f} %\n",
             least(without), steps, rounds, least(with),
             (least(with) / least(without) - 1.0) * 100.0);
  return {};
}

} // namespace

void journal() {
  const auto folder = Folder{};
  fmt::print("the journal of a job, on the disk of {}\n", folder.path().string());
  for (auto* part : {single_calls, long_journal, whole_run})
    if (auto done = part(folder.path()); !done)
      fmt::print("  failed: {}\n", to_string(done.error()));
}

} // namespace tinkaf::bench

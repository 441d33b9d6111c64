// SPDX-License-Identifier: Apache-2.0
#include "test/catch.hpp"
#include "test/engine/engine_data.hpp"
#include "test/engine/scripted_client.hpp"

#include <stdexcept>
#include <string>

#include "engine/execution.hpp"

using namespace tinkaf;
using test::batch_of;

// Schedules, what is submitted and waited for in which order, and the clock cycles that it takes:
// T a step, S a score, N a snapshot with something to score, B one without.

namespace {

Schedule schedule_of(const std::string& letters) {
  Schedule result;
  for (const auto letter : letters) {
    const auto name = "n" + std::to_string(result.size());
    switch (letter) {
    case 'T':
      result.emplace_back(TrainOp{.datums = batch_of({4}), .loss = CrossEntropy{}});
      break;
    case 'S':
      result.emplace_back(ScoreOp{batch_of({3})});
      break;
    case 'N':
      result.emplace_back(SnapshotOp{.name = name, .ttl = {}, .eval = batch_of({2})});
      break;
    default:
      result.emplace_back(SnapshotOp{.name = name, .ttl = {}, .eval = {}});
    }
  }
  return result;
}

struct Fixture {
  std::shared_ptr<test::ScriptedClient> client = std::make_shared<test::ScriptedClient>();

  /// Kinds of the results, in their order.
  std::string results;
  std::optional<Failure> failure;

  void run(Schedule schedule) {
    for (auto& step : execute(client, std::move(schedule))) {
      CHECK_FALSE(failure.has_value());
      if (step)
        results += kind_of(*step);
      else
        failure = step.error();
    }
  }

  static char kind_of(const OpResult& result) {
    if (const auto* snapshot = std::get_if<SnapshotDone>(&result))
      return snapshot->outputs ? 'N' : 'B';
    return std::holds_alternative<TrainDone>(result) ? 'T' : 'S';
  }

  /// Runs a schedule to its end and checks what came of it.
  void check(const std::string& letters, const std::string& trace, std::size_t cycles) {
    run(schedule_of(letters));
    CHECK(client->trace == trace);
    CHECK(results == letters);
    CHECK(client->cycles == cycles);
    CHECK(client->queued() == 0);
    CHECK_FALSE(failure.has_value());
  }

  /// The same for one that fails.
  void check_failing(Schedule schedule, const std::string& trace, const std::string& wanted) {
    run(std::move(schedule));
    CHECK(client->trace == trace);
    CHECK(results == wanted);
    REQUIRE(failure.has_value());
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "1: nothing to do is done at once", "[engine][schedules]") {
  check("", "", 0);
}

TEST_CASE_METHOD(Fixture, "2: a step takes a cycle", "[engine][schedules]") {
  check("T", "fb1 o1 ?fb1 ?o1", 1);
}

TEST_CASE_METHOD(Fixture, "3: three steps take three", "[engine][schedules]") {
  check("TTT", "fb1 o1 fb2 o2 ?fb1 ?o1 fb3 o3 ?fb2 ?o2 ?fb3 ?o3", 3);
}

TEST_CASE_METHOD(Fixture, "4: five steps take five", "[engine][schedules]") {
  check("TTTTT", "fb1 o1 fb2 o2 ?fb1 ?o1 fb3 o3 ?fb2 ?o2 fb4 o4 ?fb3 ?o3 fb5 o5 ?fb4 ?o4 ?fb5 ?o5",
        5);
}

TEST_CASE_METHOD(Fixture, "5: snapshots ride between steps and are scored", "[engine][schedules]") {
  check("TNTN",
        "fb1 o1 sv1 st1 fw1 fb2 o2 ?fb1 ?o1 sv2 st2 fw2 ?sv1 ?st1 ?fw1 ?fb2 ?o2 ?sv2 ?st2 ?fw2", 8);
}

TEST_CASE_METHOD(Fixture, "6: scores and bare snapshots behind steps wait for room",
                 "[engine][schedules]") {
  check("TTTSB", "fb1 o1 fb2 o2 ?fb1 ?o1 fb3 o3 ?fb2 ?o2 fw1 sv1 st1 ?fb3 ?o3 ?fw1 ?sv1 ?st1", 6);
}

TEST_CASE_METHOD(Fixture, "7: scores alone are submitted at once", "[engine][schedules]") {
  check("SSS", "fw1 fw2 fw3 ?fw1 ?fw2 ?fw3", 3);
}

TEST_CASE_METHOD(Fixture, "8: a bare snapshot between steps holds nobody up",
                 "[engine][schedules]") {
  check("TTBT", "fb1 o1 fb2 o2 ?fb1 ?o1 sv1 st1 fb3 o3 ?fb2 ?o2 ?sv1 ?st1 ?fb3 ?o3", 5);
}

TEST_CASE_METHOD(Fixture, "9: a score in front does not count as a step", "[engine][schedules]") {
  check("STTT", "fw1 fb1 o1 fb2 o2 ?fw1 ?fb1 ?o1 fb3 o3 ?fb2 ?o2 ?fb3 ?o3", 4);
}

TEST_CASE_METHOD(Fixture, "10: a bare snapshot has no outputs", "[engine][schedules]") {
  check("B", "sv1 st1 ?sv1 ?st1", 2);
}

TEST_CASE_METHOD(Fixture,
                 "11: behind a step that fails nothing more is submitted, and what is "
                 "under way is waited for",
                 "[engine][schedules][errors]") {
  client->failing = {"fb3"};
  check_failing(schedule_of("TTTTT"),
                "fb1 o1 fb2 o2 ?fb1 ?o1 fb3 o3 ?fb2 ?o2 fb4 o4 ?fb3! ?o3 ?fb4 ?o4", "TT");
  CHECK(failure->op == 2);
  CHECK(failure->in_flight == 1);
  CHECK(failure->behind.empty());
  CHECK(failure->error.code == Errc::request_failed);
  CHECK(failure->error.message
        == "schedule[2] (train): fb3 is out of luck; 1 behind it had been submitted");
  CHECK(client->queued() == 0);
}

TEST_CASE_METHOD(Fixture, "12: what cannot be submitted is told behind the results of all before",
                 "[engine][schedules][errors]") {
  client->refused = {{"fb3", Errc::connection}};
  check_failing(schedule_of("TTTTT"), "fb1 o1 fb2 o2 ?fb1 ?o1 ! ?fb2 ?o2", "TT");
  CHECK(failure->op == 2);
  CHECK(failure->in_flight == 0);
  CHECK(failure->error.message == "schedule[2] (train) could not be submitted: fb3 is refused");
  CHECK(client->cycles == 2);
  CHECK(client->queued() == 0);
}

TEST_CASE_METHOD(Fixture, "13: a first operation that cannot be submitted is told at once",
                 "[engine][schedules][errors]") {
  client->refused = {{"fb1", Errc::connection}};
  check_failing(schedule_of("TTTTT"), "!", "");
  CHECK(failure->op == 0);
  CHECK(client->cycles == 0);
}

TEST_CASE_METHOD(Fixture, "14: a first step that fails hands nothing out",
                 "[engine][schedules][errors]") {
  client->failing = {"fb1"};
  check_failing(schedule_of("TTTTT"), "fb1 o1 fb2 o2 ?fb1! ?o1 ?fb2 ?o2", "");
  CHECK(failure->op == 0);
  CHECK(failure->in_flight == 1);
}

TEST_CASE_METHOD(Fixture, "15: the half of a snapshot that was accepted is waited for, and told",
                 "[engine][schedules][errors]") {
  client->add_state("n1");
  check_failing(schedule_of("TB"), "fb1 o1 sv1 ! ?fb1 ?o1 ?sv1", "T");
  CHECK(failure->op == 1);
  CHECK(failure->error.code == Errc::conflict);
  CHECK(failure->saved
        == std::vector{
            SavedPaths{.name = "n1", .sampler_path = "tinker://run/n1", .state_path = ""}});
  CHECK(client->queued() == 0);
}

TEST_CASE_METHOD(Fixture, "16: a schedule with an empty step is refused whole",
                 "[engine][schedules][errors]") {
  auto schedule = schedule_of("TTT");
  std::get<TrainOp>(schedule[1]).datums = make_batch({});
  check_failing(std::move(schedule), "", "");
  CHECK(failure->error.message == "schedule[1].datums is empty, but must have at least one datum");
  CHECK(client->cycles == 0);
}

TEST_CASE_METHOD(Fixture, "17: who stops after a result has submitted one step more",
                 "[engine][schedules]") {
  {
    auto execution = execute(client, schedule_of("TTT"));
    auto first = execution.next();
    REQUIRE(first.has_value());
    CHECK(kind_of(first->value()) == 'T');
  }
  CHECK(client->trace == "fb1 o1 fb2 o2 ?fb1 ?o1");
}

TEST_CASE_METHOD(Fixture,
                 "18: a loss that fails within its submission is told behind the step "
                 "before",
                 "[engine][schedules][errors]") {
  client->custom_at_submission = true;
  auto schedule = schedule_of("TT");
  std::get<TrainOp>(schedule[1]).loss
      = Custom{[](const CustomLossInput&) -> Result<CustomLossValue> {
          return fail(Errc::invalid_argument, "out of ideas");
        }};
  check_failing(std::move(schedule), "fb1 o1 fw1 ?fw1 ! ?fb1 ?o1", "T");
  CHECK(failure->error.message.find("out of ideas") != std::string::npos);
  CHECK(client->cycles == 2);
}

TEST_CASE_METHOD(Fixture, "19: a run that nobody reads asks for nothing", "[engine][schedules]") {
  { auto execution = execute(client, schedule_of("TTT")); }
  CHECK(client->trace.empty());
  CHECK(client->cycles == 0);
}

TEST_CASE_METHOD(Fixture, "Steps awaited one request at a time take three cycles, in pairs two",
                 "[engine][schedules]") {
  const auto batch = batch_of({1});
  auto naive = test::ScriptedClient{};
  auto paired = test::ScriptedClient{};
  for (int i = 0; i < 5; ++i) {
    REQUIRE(naive.submit(SubmitForwardBackward{batch}).value()().has_value());
    REQUIRE(naive.submit(SubmitOptimStep{}).value()().has_value());
    auto gradient = paired.submit(SubmitForwardBackward{batch}).value();
    auto step = paired.submit(SubmitOptimStep{}).value();
    REQUIRE(gradient().has_value());
    REQUIRE(step().has_value());
  }
  CHECK(naive.cycles == 14);
  CHECK(paired.cycles == 9);
}

// SPDX-License-Identifier: Apache-2.0
#include "test/client/local_service.hpp"
#include "test/engine/engine_data.hpp"

#include <mutex>
#include <string>

#include "engine/client_execute.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;
using test::batch_of;

// Schedules over real sockets against the local server. Letters as in the tests of the schedules;
// C is a step with a custom loss.

namespace {

constexpr auto limit = 60s;

/// Notes which requests leave, in the order of their numbers.
class Sent : public OperationLog {
public:
  Result<void> note(const NumberedTurn& turn) override {
    std::lock_guard lock{mutex_};
    for (const auto& request : turn)
      text_ += letter_of(request.type);
    return {};
  }

  Result<void> accepted(std::int64_t, const FutureRef&) override {
    return {};
  }

  [[nodiscard]] std::string text() const {
    std::lock_guard lock{mutex_};
    return text_;
  }

private:
  static char letter_of(RequestType type) {
    switch (type) {
    case RequestType::forward:
      return 'f';
    case RequestType::forward_backward:
      return 'b';
    case RequestType::optim_step:
      return 'o';
    case RequestType::save_weights:
      return 's';
    case RequestType::save_weights_for_sampler:
      return 'p';
    default:
      return '?';
    }
  }

  mutable std::mutex mutex_;
  std::string text_;
};

struct Fixture : test::LocalService {
  Service service = connect();
  std::shared_ptr<Sent> sent = std::make_shared<Sent>();
  TrainingClient client = make_client(sent);
  std::string results;
  std::vector<SnapshotDone> snapshots;
  std::vector<ScoreDone> scores;
  std::optional<Failure> failure;

  [[nodiscard]] TrainingClient make_client(std::shared_ptr<OperationLog> log = {}) const {
    return service.create_lora_training_client("tiny", {.rank = 4, .seed = 1}, {}, std::move(log))
        .value();
  }

  static Op op_of(char letter, std::size_t at) {
    const auto name = "n" + std::to_string(at);
    switch (letter) {
    case 'T':
      return TrainOp{.datums = batch_of({4 + at % 3, 5}), .loss = CrossEntropy{}, .lr = 1e-2};
    case 'C':
      return TrainOp{.datums = batch_of({4, 5}), .loss = test::raise_all(), .lr = 1e-2};
    case 'S':
      return ScoreOp{batch_of({6})};
    case 'N':
      return SnapshotOp{.name = name, .ttl = 3600s, .eval = batch_of({6})};
    default:
      return SnapshotOp{.name = name, .ttl = {}, .eval = {}};
    }
  }

  static Schedule schedule_of(const std::string& letters) {
    Schedule result;
    for (std::size_t at = 0; at < letters.size(); ++at)
      result.push_back(op_of(letters[at], at));
    return result;
  }

  void run(const Schedule& schedule) {
    for (auto& step : execute(client, schedule)) {
      if (!step) {
        failure = step.error();
        continue;
      }
      if (auto* snapshot = std::get_if<SnapshotDone>(&*step)) {
        results += snapshot->outputs ? 'N' : 'B';
        snapshots.push_back(*snapshot);
      } else if (auto* score = std::get_if<ScoreDone>(&*step)) {
        results += 'S';
        scores.push_back(*score);
      } else {
        results += std::holds_alternative<Custom>(std::get<TrainDone>(*step).op.loss) ? 'C' : 'T';
      }
    }
  }

  /// What an operation sends, as `Sent` notes it.
  static std::string requests_of(char letter) {
    switch (letter) {
    case 'T':
      return "bo";
    case 'C':
      return "fbo";
    case 'S':
      return "f";
    case 'N':
      return "psf";
    default:
      return "ps";
    }
  }

  static DatumOutputs score_of(const TrainingClient& model) {
    auto output = model.forward(batch_of({6})).get(limit);
    REQUIRE(output.has_value());
    return output->loss_fn_outputs;
  }

  [[nodiscard]] TrainingClient load(const std::string& path) const {
    auto loaded = service.create_training_client_from_state_with_optimizer(path);
    REQUIRE(loaded.has_value());
    return *loaded;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "Schedules send their operations in order and hand all results out",
                 "[engine][end-to-end]") {
  const std::string letters
      = GENERATE("", "T", "TTT", "TTTTT", "TNTN", "TTTSB", "SSS", "TTBT", "STTT", "B", "TCTN");
  INFO(letters);
  run(schedule_of(letters));
  if (failure)
    FAIL(to_string(failure->error));
  CHECK(results == letters);
  std::string expected;
  for (const auto letter : letters)
    expected += requests_of(letter);
  CHECK(sent->text() == expected);
}

TEST_CASE_METHOD(Fixture, "A schedule leaves the weights that the same calls one by one leave",
                 "[engine][end-to-end]") {
  const auto schedule = schedule_of("TTNTST");
  run(schedule);
  REQUIRE_FALSE(failure.has_value());
  auto plain = make_client();
  for (const auto& op : schedule) {
    if (const auto* train = std::get_if<TrainOp>(&op)) {
      REQUIRE(plain.forward_backward(train->datums).get(limit).has_value());
      REQUIRE(plain.optim_step({.learning_rate = train->lr}).get(limit).has_value());
    } else if (std::holds_alternative<SnapshotOp>(op)) {
      CHECK(snapshots.at(0).outputs == score_of(plain));
    } else {
      CHECK(scores.at(0).outputs == score_of(plain));
    }
  }
  CHECK(score_of(client) == score_of(plain));
}

TEST_CASE_METHOD(Fixture, "Both paths of a snapshot hold exactly the steps in front of it",
                 "[engine][end-to-end]") {
  const auto schedule = schedule_of("TTNTT");
  run(schedule);
  REQUIRE(snapshots.size() == 1);
  CHECK(score_of(load(snapshots[0].state_path)) == snapshots[0].outputs);
  auto sampler = service.create_sampling_client(snapshots[0].sampler_path);
  REQUIRE(sampler.has_value());
  CHECK(sampler->compute_logprobs(ModelInput::from_ints({40, 41, 42})).get(limit).has_value());
}

TEST_CASE_METHOD(Fixture, "Going on from any snapshot repeats no step and skips none",
                 "[engine][end-to-end]") {
  const auto schedule = schedule_of("TNTNTNT");
  run(schedule);
  const auto end = score_of(client);
  REQUIRE(snapshots.size() == 3);
  for (std::size_t at = 0; at < snapshots.size(); ++at) {
    auto resumed = load(snapshots[at].state_path);
    // The operations behind the snapshot; their names are new to this run.
    const Schedule rest{schedule.begin() + static_cast<std::ptrdiff_t>(2 * at + 2), schedule.end()};
    for (auto& step : execute(resumed, rest))
      REQUIRE(step.has_value());
    CHECK(score_of(resumed) == end);
  }
}

TEST_CASE_METHOD(Fixture, "A step that fails at the server ends the schedule behind what is done",
                 "[engine][end-to-end][errors]") {
  auto schedule = schedule_of("TTTTT");
  auto outside = test::datum_of(4);
  outside.loss_fn_inputs["target_tokens"] = TensorData::of(std::vector<std::int64_t>{1, 2, 3, 999});
  std::get<TrainOp>(schedule[2]).datums = make_batch({outside}); // no token of the model
  run(schedule);
  CHECK(results == "TT");
  REQUIRE(failure.has_value());
  INFO(failure->error.message);
  CHECK(failure->op == 2);
  CHECK(failure->in_flight == 1);
  CHECK(failure->error.message.find("schedule[2] (train)") == 0);
  CHECK(score_of(client).size() == 1); // the client goes on
}

TEST_CASE_METHOD(Fixture, "A first step that fails at the server hands nothing out",
                 "[engine][end-to-end][errors]") {
  auto schedule = schedule_of("TTTTT");
  auto outside = test::datum_of(4);
  outside.loss_fn_inputs["target_tokens"] = TensorData::of(std::vector<std::int64_t>{1, 2, 3, 999});
  std::get<TrainOp>(schedule[0]).datums = make_batch({outside});
  run(schedule);
  CHECK(results.empty());
  REQUIRE(failure.has_value());
  CHECK(failure->op == 0);
  CHECK(failure->in_flight == 1);
  CHECK(sent->text() == "bobo");
}

TEST_CASE_METHOD(Fixture, "A model that goes in the middle ends the schedule behind what was done",
                 "[engine][end-to-end][errors]") {
  auto execution = execute(client, schedule_of("TTTTT"));
  REQUIRE(execution.next()->has_value());
  REQUIRE(client.unload().get(limit).has_value());
  auto second = execution.next();
  REQUIRE(second->has_value());
  CHECK(std::holds_alternative<TrainDone>(**second));
  auto third = execution.next();
  REQUIRE_FALSE(third->has_value());
  CHECK(third->error().op == 2);
  CHECK_FALSE(execution.next().has_value());
  // Nor does another schedule begin.
  run(schedule_of("TT"));
  CHECK(results.empty());
  REQUIRE(failure.has_value());
  CHECK(failure->op == 0);
}

TEST_CASE_METHOD(Fixture,
                 "A state of a name that is taken ends the schedule and tells what it saved",
                 "[engine][end-to-end][errors]") {
  REQUIRE(client.save_state("n1").get(limit).has_value());
  run(schedule_of("TB"));
  CHECK(results == "T");
  REQUIRE(failure.has_value());
  CHECK(failure->op == 1);
  REQUIRE(failure->saved.size() == 1);
  CHECK(failure->saved[0].state_path.empty());
  CHECK(service.create_sampling_client(failure->saved[0].sampler_path).has_value());
}

TEST_CASE_METHOD(Fixture, "A loss that fails ends the schedule behind the steps before",
                 "[engine][end-to-end][errors]") {
  auto schedule = schedule_of("TCT");
  std::get<TrainOp>(schedule[1]).loss
      = Custom{[](const CustomLossInput&) -> Result<CustomLossValue> {
          return fail(Errc::invalid_argument, "out of ideas");
        }};
  run(schedule);
  CHECK(results == "T");
  REQUIRE(failure.has_value());
  CHECK(failure->error.message.find("out of ideas") != std::string::npos);
}

TEST_CASE_METHOD(Fixture,
                 "Nothing is sent of a schedule that is bad, that its cap forbids, or "
                 "that nobody reads",
                 "[engine][end-to-end][errors]") {
  auto schedule = schedule_of("TTT");
  SECTION("bad") {
    std::get<TrainOp>(schedule[1]).datums = make_batch({});
    run(schedule);
    CHECK(failure.has_value());
  }
  SECTION("forbidden") {
    auto cap = SpendCap::make(0.0, {.train = 0.4}).value();
    auto execution = execute(client, schedule, cap);
    CHECK_FALSE(execution.next()->has_value());
  }
  SECTION("unread") {
    auto execution = execute(client, schedule);
  }
  CHECK(score_of(client).size() == 1);
  CHECK(sent->text() == "f"); // that of the test itself
}

TEST_CASE_METHOD(Fixture, "Who stops reading has submitted one step more", "[engine][end-to-end]") {
  {
    auto execution = execute(client, schedule_of("TTT"));
    REQUIRE(execution.next()->has_value());
  }
  CHECK(score_of(client).size() == 1);
  CHECK(sent->text() == "bobof");
}

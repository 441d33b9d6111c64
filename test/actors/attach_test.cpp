// SPDX-License-Identifier: Apache-2.0
#include "messages/ledger.hpp"
#include "test/actors/training_fixture.hpp"

#include <map>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

// A training client that goes on where another one ended, and the ledger that lets it.

namespace {

/// What a ledger was told.
struct Notes {
  std::vector<NumberedTurn> turns;
  std::map<std::int64_t, std::string> accepted;
  bool at_once = true;
  std::optional<Error> refusal;
  std::vector<Owed<Done>> waiting;
};

/// Sent as `accepted` by the test: what waits for its note waits no longer.
constexpr std::int64_t all_are_safe = -1;

/// A ledger in memory whose notes are safe when the test says so.
LedgerActor::behavior_type ledger(LedgerActor::pointer self, std::shared_ptr<Notes> notes) {
  return {
      [self, notes](const NumberedTurn& turn) {
        auto answer = owe<Done>(self);
        if (notes->refusal) {
          answer.fail(*notes->refusal);
          return answer.promise();
        }
        notes->turns.push_back(turn);
        if (notes->at_once)
          answer.deliver({});
        else
          notes->waiting.push_back(answer);
        return answer.promise();
      },
      [notes](atom::accepted, std::int64_t seq_id, const FutureRef& future) {
        if (seq_id == all_are_safe)
          for (const auto& answer : std::exchange(notes->waiting, {}))
            answer.deliver({});
        else
          notes->accepted[seq_id] = future.request_id;
      },
  };
}

Datum datum() {
  return {.model_input = ModelInput::from_ints({1, 2}),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{2, 3})},
                             {"weights", TensorData::of(std::vector<float>{1, 1})}}};
}

NumberedRequest noted(std::int64_t seq_id, RequestType type, const std::string& result = {}) {
  NumberedRequest request{
      .seq_id = seq_id, .type = type, .accepted = {}, .sampling_session_seq_id = {}};
  if (!result.empty())
    request.accepted = FutureRef{result, "model-1"};
  return request;
}

struct Fixture : test::TrainingFixture {
  TrainingClientActor open_noted() {
    open_session();
    ledger_actor = spawn(ledger, notes);
    auto client = ask<TrainingClientActor>(session_actor, CreateLoraTrainingClient{"tiny", {}, {}},
                                           ledger_actor);
    run();
    REQUIRE(client->has_value());
    opened_with = transport->sent.size();
    return (*client)->value();
  }

  TrainingClientActor attach(std::int64_t next_seq_id, std::vector<NumberedTurn> open) {
    open_session();
    opened_with = transport->sent.size();
    auto client = ask<TrainingClientActor>(
        session_actor, AttachTrainingClient{"model-1", next_seq_id, std::move(open)},
        spawn(ledger, notes));
    run();
    REQUIRE(client->has_value());
    CHECK(transport->sent.size() == opened_with + 1); // for the lengths, but not for the model
    opened_with = transport->sent.size();
    return (*client)->value();
  }

  void notes_are_safe() {
    tell_as(asker(), ledger_actor, atom::accepted_v, all_are_safe, FutureRef{});
    run();
  }

  std::vector<std::int64_t> steps() const {
    return numbers<OptimStepRequest>(Endpoint::optim_step);
  }

  LedgerActor ledger_actor;
  std::shared_ptr<Notes> notes = std::make_shared<Notes>();
};

using Numbers = std::vector<std::int64_t>;

} // namespace

TEST_CASE_METHOD(Fixture, "No request leaves before the ledger has its number",
                 "[actors][training][ledger]") {
  notes->at_once = false;
  auto client = open_noted();
  auto answer = optim_step(client);
  REQUIRE(notes->turns.size() == 1);
  CHECK(notes->turns[0] == NumberedTurn{noted(1, RequestType::optim_step)});
  CHECK(steps().empty());
  pass(1h);
  CHECK(steps().empty());
  notes_are_safe();
  CHECK(steps() == Numbers{1});
  CHECK(notes->accepted.empty());
  accept(Endpoint::optim_step, "one");
  CHECK(notes->accepted == std::map<std::int64_t, std::string>{{1, "one"}});
  finish("one", "{}");
  REQUIRE(answer->has_value());
  CHECK((*answer)->has_value());
}

TEST_CASE_METHOD(Fixture, "A turn that cannot be noted fails, sends nothing and uses no number",
                 "[actors][training][ledger]") {
  auto client = open_noted();
  notes->refusal = Error{Errc::io_error, "no space left on the disk"};
  auto refused = optim_step(client);
  REQUIRE(refused->has_value());
  CHECK((*refused)->error().code == Errc::io_error);
  CHECK((*refused)->error().message == "no space left on the disk");
  CHECK(steps().empty());
  notes->refusal.reset();
  optim_step(client);
  CHECK(steps() == Numbers{1});
}

TEST_CASE_METHOD(Fixture, "The parts of a batch are noted as one turn before the first leaves",
                 "[actors][training][ledger]") {
  config.fwdbwd_max_chunk_len = 1;
  auto client = open_noted();
  forward_backward(client, {datum(), datum(), datum()});
  REQUIRE(notes->turns.size() == 1);
  CHECK(notes->turns[0]
        == NumberedTurn{noted(1, RequestType::forward_backward),
                        noted(2, RequestType::forward_backward),
                        noted(3, RequestType::forward_backward)});
}

TEST_CASE_METHOD(Fixture, "A custom loss notes its two passes as two turns",
                 "[actors][training][ledger][custom_loss]") {
  auto client = open_noted();
  CustomLossFn loss = [](const CustomLossInput& input) -> Result<CustomLossValue> {
    return CustomLossValue{.loss = 1, .gradients = {input.logprobs[0]}, .metrics = {}};
  };
  auto answer
      = ask<ForwardBackwardOutput>(client, atom::custom_loss_v, make_batch({datum()}), loss);
  run();
  accept(Endpoint::forward, "forward");
  finish("forward", test::pass_result({{-1, -2}}));
  CHECK(notes->turns.size() == 1);
  threads->run_one();
  run();
  REQUIRE(notes->turns.size() == 2);
  CHECK(notes->turns[0] == NumberedTurn{noted(1, RequestType::forward)});
  CHECK(notes->turns[1] == NumberedTurn{noted(2, RequestType::forward_backward)});
  accept(Endpoint::forward_backward, "backward");
  CHECK(notes->accepted == std::map<std::int64_t, std::string>{{1, "forward"}, {2, "backward"}});
  CHECK_FALSE(answer->has_value());
}

TEST_CASE_METHOD(Fixture,
                 "An attached client waits for what the service has, sends what it may not have "
                 "under the old number, and counts on behind",
                 "[actors][training][attach]") {
  auto client = attach(8, {{noted(5, RequestType::forward_backward, "five")},
                           {noted(6, RequestType::optim_step)},
                           {noted(7, RequestType::forward_backward, "seven")}});
  auto five = forward_backward(client, {datum()});
  auto six = optim_step(client);
  auto seven = forward_backward(client, {datum()});
  auto eight = optim_step(client);
  CHECK(sent_to(Endpoint::forward_backward).empty());
  CHECK(steps() == Numbers{6});
  accept(Endpoint::optim_step, "six");
  CHECK(steps() == Numbers{6, 8});
  accept(Endpoint::optim_step, "eight");
  CHECK(notes->turns == std::vector<NumberedTurn>{{noted(8, RequestType::optim_step)}});
  CHECK(notes->accepted == std::map<std::int64_t, std::string>{{6, "six"}, {8, "eight"}});
  finish("seven", test::pass_result({{-7, -7}}));
  REQUIRE(seven->has_value());
  CHECK((*seven)->value().loss_fn_outputs[0].at("logprobs").floats()->front() == -7);
  finish("five", test::pass_result({{-5, -5}}));
  finish("six", "{}");
  finish("eight", "{}");
  CHECK((*five)->has_value());
  CHECK((*six)->has_value());
  CHECK((*eight)->has_value());
  CHECK(sent_to(Endpoint::forward_backward).empty());
}

TEST_CASE_METHOD(Fixture, "Of a batch that left in part, the attached client sends the rest",
                 "[actors][training][attach]") {
  config.fwdbwd_max_chunk_len = 1;
  auto client = attach(4, {{noted(1, RequestType::forward_backward, "part-1"),
                            noted(2, RequestType::forward_backward),
                            noted(3, RequestType::forward_backward, "part-3")}});
  auto answer = forward_backward(client, {datum(), datum(), datum()});
  CHECK(numbers<ForwardBackwardRequest>(Endpoint::forward_backward) == Numbers{2});
  accept(Endpoint::forward_backward, "part-2");
  finish("part-1", test::pass_result({{-1, -1}}));
  finish("part-3", test::pass_result({{-3, -3}}));
  CHECK_FALSE(answer->has_value());
  finish("part-2", test::pass_result({{-2, -2}}));
  REQUIRE(answer->has_value());
  const auto& outputs = (*answer)->value().loss_fn_outputs;
  REQUIRE(outputs.size() == 3);
  CHECK(outputs[1].at("logprobs").floats()->front() == -2);
}

TEST_CASE_METHOD(Fixture, "A thousand open results are waited for at once",
                 "[actors][training][attach]") {
  std::vector<NumberedTurn> open;
  std::vector<test::Answer<OptimStepResponse>> answers;
  for (std::int64_t i = 1; i <= 1000; ++i) {
    open.push_back({noted(i, RequestType::optim_step, "step-" + std::to_string(i))});
    results["step-" + std::to_string(i)] = "{}";
  }
  auto client = attach(1001, std::move(open));
  for (int i = 0; i < 1000; ++i)
    answers.push_back(ask<OptimStepResponse>(client, AdamParams{}));
  run();
  for (const auto& answer : answers) {
    REQUIRE(answer->has_value());
    CHECK((*answer)->has_value());
  }
  CHECK(steps().empty());
}

TEST_CASE_METHOD(Fixture,
                 "A job that is not the one that was noted is refused by the number, and sends "
                 "nothing",
                 "[actors][training][attach]") {
  auto client = attach(6, {{noted(5, RequestType::optim_step, "five")}});
  auto first = forward_backward(client, {datum()});
  auto second = optim_step(client);
  REQUIRE(first->has_value());
  CHECK((*first)->error().code == Errc::conflict);
  CHECK((*first)->error().message.find("seq_id 5 was used for OptimStep, but is asked for as "
                                       "ForwardBackward")
        != std::string::npos);
  REQUIRE(second->has_value());
  CHECK((*second)->error().code == Errc::conflict);
  CHECK(transport->sent.size() == opened_with);
}

TEST_CASE_METHOD(Fixture, "A batch of another number of parts than was noted is refused",
                 "[actors][training][attach]") {
  auto client = attach(
      7, {{noted(5, RequestType::forward_backward), noted(6, RequestType::forward_backward)}});
  auto answer = forward_backward(client, {datum()});
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::conflict);
  CHECK((*answer)->error().message.find("ForwardBackward in 2 parts") != std::string::npos);
  CHECK(transport->sent.size() == opened_with);
}

TEST_CASE_METHOD(Fixture, "A result that is no more says so, by code and number",
                 "[actors][training][attach]") {
  auto client = attach(2, {{noted(1, RequestType::optim_step, "gone")}});
  expired.insert("gone");
  auto answer = optim_step(client);
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::future_expired);
  CHECK((*answer)->error().http_status == 410);
  CHECK((*answer)->error().message.find("OptimStep with seq_id 1") != std::string::npos);
}

TEST_CASE_METHOD(Fixture,
                 "An open number that does not get through ends the client, for it may have "
                 "before",
                 "[actors][training][attach]") {
  auto client
      = attach(3, {{noted(1, RequestType::optim_step)}, {noted(2, RequestType::optim_step)}});
  auto first = optim_step(client);
  auto second = optim_step(client);
  for (int i = 0; i < 30 && !first->has_value(); ++i) {
    transport->answer(path(Endpoint::optim_step), test::no_connection(false));
    pass(2s);
  }
  REQUIRE(first->has_value());
  CHECK((*first)->error().code == Errc::connection);
  REQUIRE(second->has_value());
  CHECK((*second)->error().code == Errc::request_failed);
}

TEST_CASE_METHOD(Fixture, "A save for a sampler keeps the number that was noted with it",
                 "[actors][training][attach]") {
  auto open = noted(4, RequestType::save_weights_for_sampler);
  open.sampling_session_seq_id = 3;
  auto client = attach(5, {{open}});
  ask<SaveWeightsForSamplerResponse>(client, atom::save_for_sampler_v);
  ask<SaveWeightsForSamplerResponse>(client, atom::save_for_sampler_v);
  run();
  accept(Endpoint::save_weights_for_sampler, "four");
  accept(Endpoint::save_weights_for_sampler, "five");
  auto saves = sent_to(Endpoint::save_weights_for_sampler);
  REQUIRE(saves.size() == 2);
  auto first = wire::from_json<SaveWeightsForSamplerRequest>(*saves[0].body).value();
  CHECK(first.seq_id == 4);
  CHECK(first.sampling_session_seq_id == 3);
  auto second = wire::from_json<SaveWeightsForSamplerRequest>(*saves[1].body).value();
  CHECK(second.seq_id == 5);
  CHECK(second.sampling_session_seq_id == 4); // the session has seen that 3 is taken
  REQUIRE(notes->turns.size() == 1);
  CHECK(notes->turns[0][0].sampling_session_seq_id == 4);
}

TEST_CASE_METHOD(Fixture, "A custom loss whose passes the service has both sends neither again",
                 "[actors][training][attach][custom_loss]") {
  auto client = attach(3, {{noted(1, RequestType::forward, "forward")},
                           {noted(2, RequestType::forward_backward, "backward")}});
  CustomLossFn loss = [](const CustomLossInput& input) -> Result<CustomLossValue> {
    return CustomLossValue{.loss = 4, .gradients = {input.logprobs[0]}, .metrics = {}};
  };
  auto answer
      = ask<ForwardBackwardOutput>(client, atom::custom_loss_v, make_batch({datum()}), loss);
  auto behind = optim_step(client);
  finish("forward", test::pass_result({{-1, -2}}));
  threads->run_one();
  run();
  finish("backward", test::pass_result({{-1, -2}}));
  REQUIRE(answer->has_value());
  CHECK((*answer)->value().metrics.at("custom_loss") == 4);
  CHECK(sent_to(Endpoint::forward).empty());
  CHECK(sent_to(Endpoint::forward_backward).empty());
  CHECK(steps() == Numbers{3});
}

TEST_CASE_METHOD(Fixture, "Numbers that do not rise are no place to go on from",
                 "[actors][session][attach]") {
  open_session();
  auto attached = ask<TrainingClientActor>(
      session_actor, AttachTrainingClient{"model-1", 5, {{noted(5, RequestType::optim_step)}}});
  auto nameless = ask<TrainingClientActor>(session_actor, AttachTrainingClient{"", 1, {}});
  run();
  REQUIRE(attached->has_value());
  CHECK((*attached)->error().code == Errc::invalid_argument);
  CHECK((*attached)->error().message.find("next_seq_id is 5") != std::string::npos);
  REQUIRE(nameless->has_value());
  CHECK((*nameless)->error().message.find("model_id") != std::string::npos);
}

// --- the session ---------------------------------------------------------------------------------

TEST_CASE_METHOD(Fixture, "A session that goes on creates none, gives a sign of life and counts on",
                 "[actors][session][attach]") {
  settings.record = SessionRecord{"session-9", 4, 6};
  spawn_session();
  auto id = ask<std::string>(session_actor, atom::open_v);
  run();
  CHECK_FALSE(id->has_value());
  CHECK(sent_to(Endpoint::create_session).empty());
  auto beats = sent_to(Endpoint::session_heartbeat);
  REQUIRE(beats.size() == 1);
  CHECK(beats[0].body->find("session-9") != std::string::npos);
  SECTION("if the service still knows it") {
    refuse(Endpoint::session_heartbeat, test::json(200, "{}"));
    REQUIRE(id->has_value());
    CHECK((*id)->value() == "session-9");
    make_training_client();
    auto next = ask<std::int64_t>(session_actor, atom::sampler_number_v);
    auto record = ask<SessionRecord>(session_actor, atom::record_v);
    run();
    CHECK((*next)->value() == 6);
    CHECK((*record)->value() == SessionRecord{"session-9", 5, 7});
    opened_with = transport->sent.size();
    pass(10s);
    CHECK(sent_to(Endpoint::session_heartbeat).size() == 1);
  }
  SECTION("and says if the service does not") {
    refuse(Endpoint::session_heartbeat, test::json(404, R"({"detail":"Session not found"})"));
    REQUIRE(id->has_value());
    CHECK((*id)->error().code == Errc::not_found);
    CHECK((*id)->error().http_status == 404);
    CHECK((*id)->error().message.find("session-9") != std::string::npos);
    auto client = ask<TrainingClientActor>(session_actor, AttachTrainingClient{"model-1", 1, {}});
    run();
    REQUIRE(client->has_value());
    CHECK((*client)->error().code == Errc::not_found);
  }
}

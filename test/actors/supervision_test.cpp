// SPDX-License-Identifier: Apache-2.0
#include "test/actors/insides.hpp"
#include "test/actors/training_fixture.hpp"

#include <caf/actor_system.hpp>

#include <stdexcept>

using namespace std::chrono_literals;
using namespace tinkaf;

// Who breaks, what was in flight, and that it came back. Pollers by themselves are in
// poller_supervisor_test.

namespace {

using Numbers = std::vector<std::int64_t>;

constexpr auto pause = 100ms; // before the first restart

Datum datum() {
  return {.model_input = ModelInput::from_ints({1, 2}),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{2, 3})},
                             {"weights", TensorData::of(std::vector<float>{1, 1})}}};
}

std::string sampled(Token token) {
  return wire::to_json(SampleResponse{.sequences = {{.tokens = {token}}}}).value();
}

/// Threads that cannot be had, by an exception.
class NoThreads : public LossThreads {
public:
  Result<void> run(std::function<void()> job) override {
    if (fails-- > 0)
      throw std::runtime_error("no thread");
    jobs.push_back(std::move(job));
    return {};
  }

  int fails = 1;
  std::deque<std::function<void()>> jobs;
};

struct Fixture : test::TrainingFixture {
  SessionState& parts() {
    return test::state_of<SessionState>(session_actor);
  }

  Numbers steps() const {
    return numbers<OptimStepRequest>(Endpoint::optim_step);
  }

  test::Answer<ForwardBackwardOutput> custom(const TrainingClientActor& client, CustomLossFn loss) {
    auto answer
        = ask<ForwardBackwardOutput>(client, atom::custom_loss_v, make_batch({datum()}), loss);
    run();
    return answer;
  }

  SamplingClientActor make_sampling_client() {
    auto client = ask<SamplingClientActor>(session_actor, CreateSamplingClient{.base_model = "m"});
    run();
    REQUIRE(client->has_value());
    opened_with = transport->sent.size();
    return (*client)->value();
  }

  test::Answer<SampleResponse> sample(const SamplingClientActor& client) {
    auto answer = ask<SampleResponse>(client, SampleRequest{.prompt = ModelInput::from_ints({1})});
    run();
    return answer;
  }

  Numbers samples() const {
    return numbers<AsampleRequest>(Endpoint::asample);
  }

  SupervisionTree tree() {
    auto answer = ask<SupervisionTree>(session_actor, atom::tree_v);
    run();
    REQUIRE(answer->has_value());
    return (*answer)->value();
  }

  SupervisedPart part(const std::string& name) {
    for (const auto& x : tree().session.parts)
      if (x.name == name)
        return x;
    FAIL("no part " << name);
    return {};
  }
};

template <class T>
bool came(const test::Answer<T>& answer) {
  return answer->has_value() && (*answer)->has_value();
}

} // namespace

// --- the training client -------------------------------------------------------------------------

TEST_CASE_METHOD(Fixture,
                 "A training client killed between submission and result goes on with its numbers, "
                 "and its callers get their results",
                 "[actors][supervision][training]") {
  auto client = open();
  auto pass_answer = forward_backward(client, {datum()}); // accepted, its result is polled
  accept(Endpoint::forward_backward, "one");
  auto step = optim_step(client);   // left, nobody knows whether it arrived
  auto queued = optim_step(client); // waits for its turn
  CHECK(steps() == Numbers{2});
  kill(test::worker_of(client));
  auto later = optim_step(client); // during the pause
  CHECK(part("training client model-1").state == PartState::restarting);
  pass(pause);
  CHECK(sent_to(Endpoint::forward_backward).size() == 1);
  CHECK(steps() == Numbers{2, 2}); // the service knows the repeat by its number
  accept(Endpoint::optim_step, "two");
  CHECK(steps() == Numbers{2, 2, 3});
  accept(Endpoint::optim_step, "three");
  accept(Endpoint::optim_step, "four");
  CHECK(steps() == Numbers{2, 2, 3, 4});
  finish("one", test::pass_result({{-1, -2}}));
  for (const auto* id : {"two", "three", "four"})
    finish(id, "{}");
  CHECK(came(pass_answer));
  CHECK(came(step));
  CHECK(came(queued));
  CHECK(came(later));
  auto shown = part("training client model-1");
  CHECK(shown.state == PartState::running);
  CHECK(shown.restarts == 1);
  CHECK(shown.last_reason == "a kill");
}

TEST_CASE_METHOD(Fixture,
                 "Results of a batch in parts are joined although the client broke between",
                 "[actors][supervision][training]") {
  config.fwdbwd_max_chunk_len = 1;
  auto client = open();
  auto answer = forward_backward(client, {datum(), datum(), datum()});
  accept(Endpoint::forward_backward, "part-2");
  kill(test::worker_of(client)); // part 3 has left, part 1 has not
  pass(pause);
  accept(Endpoint::forward_backward, "part-3");
  accept(Endpoint::forward_backward, "part-1");
  CHECK(numbers<ForwardBackwardRequest>(Endpoint::forward_backward) == Numbers{2, 3, 3, 1});
  for (const auto* id : {"part-1", "part-2", "part-3"})
    finish(id, test::pass_result({{-1, -2}}));
  REQUIRE(came(answer));
  CHECK((*answer)->value().loss_fn_outputs.size() == 3);
}

TEST_CASE_METHOD(Fixture, "A number that was given back is not missing after a restart",
                 "[actors][supervision][training]") {
  auto client = open();
  auto refused = optim_step(client);
  refuse(Endpoint::optim_step, test::json(403, R"({"detail":"no"})"));
  REQUIRE(refused->has_value());
  kill(test::worker_of(client));
  pass(pause);
  optim_step(client);
  CHECK(steps() == Numbers{1, 1});
}

TEST_CASE_METHOD(Fixture, "An operation that was given up keeps its number through a restart",
                 "[actors][supervision][training]") {
  auto client = open();
  auto id = std::make_shared<std::uint64_t>(0);
  CourierTask task = [=](caf::event_based_actor* self) {
    auto request = self->request(client, caf::infinite, AdamParams{});
    *id = call_id(request);
    request.then([](const OptimStepResponse&) {}, [](const caf::error&) {});
  };
  caf::anon_send(asker(), std::move(task));
  run();
  tell_as(asker(), client, atom::cancel_v, *id);
  run();
  kill(test::worker_of(client));
  pass(pause);
  auto next = optim_step(client);
  CHECK(steps() == Numbers{1, 1});
  accept(Endpoint::optim_step, "one");
  CHECK(steps() == Numbers{1, 1, 2});
  accept(Endpoint::optim_step, "two");
  CHECK(test::state_of<TrainingKeeperState>(client).operations.size() == 1); // the other is gone
  finish("two", "{}");
  CHECK(came(next));
  CHECK(test::state_of<TrainingKeeperState>(client).operations.empty());
}

TEST_CASE_METHOD(Fixture, "A model whose creation the client did not survive is created once",
                 "[actors][supervision][training]") {
  open_session();
  opened_with = transport->sent.size();
  auto client = ask<TrainingClientActor>(session_actor, CreateLoraTrainingClient{"tiny", {}, {}});
  // Let it ask, then break it before the answer is read.
  while (sent_to(Endpoint::create_model).empty())
    REQUIRE(run_one());
  kill(test::worker_of(caf::actor_cast<TrainingClientActor>(parts().clients.at(0))));
  pass(pause);
  REQUIRE(came(client));
  for (const auto& request : sent_to(Endpoint::create_model))
    CHECK(wire::from_json<CreateModelRequest>(*request.body).value().model_seq_id == 0);
}

TEST_CASE_METHOD(Fixture, "A custom loss whose backward pass the service has is not computed again",
                 "[actors][supervision][custom_loss]") {
  auto client = open();
  int calls = 0;
  auto answer = custom(client, [&](const CustomLossInput& input) -> Result<CustomLossValue> {
    ++calls;
    return CustomLossValue{.loss = 3, .gradients = {input.logprobs[0]}, .metrics = {}};
  });
  auto behind = optim_step(client);
  accept(Endpoint::forward, "forward");
  finish("forward", test::pass_result({{-1, -2}}));
  threads->run_one();
  run();
  SECTION("accepted") {
    accept(Endpoint::forward_backward, "backward");
    kill(test::worker_of(client));
    pass(pause);
    CHECK(sent_to(Endpoint::forward_backward).size() == 1);
  }
  SECTION("or on its way, which is sent again as it was") {
    kill(test::worker_of(client));
    pass(pause);
    accept(Endpoint::forward_backward, "backward");
    auto sent = sent_to(Endpoint::forward_backward);
    REQUIRE(sent.size() == 2);
    CHECK(*sent[0].body == *sent[1].body);
  }
  CHECK(calls == 1);
  CHECK(sent_to(Endpoint::forward).size() == 1);
  finish("backward", test::pass_result({{-1, -2}}));
  REQUIRE(came(answer));
  CHECK((*answer)->value().metrics.at("custom_loss") == 3);
  accept(Endpoint::optim_step, "step");
  CHECK(steps().back() == 3);
  finish("step", "{}");
  CHECK(came(behind));
}

TEST_CASE_METHOD(Fixture, "An exception inside the client while a custom loss begins costs nothing",
                 "[actors][supervision][custom_loss]") {
  auto broken = std::make_shared<NoThreads>();
  settings.loss_threads = broken;
  auto client = open();
  auto answer = custom(client, [](const CustomLossInput& input) -> Result<CustomLossValue> {
    return CustomLossValue{.loss = 3, .gradients = {input.logprobs[0]}, .metrics = {}};
  });
  accept(Endpoint::forward, "forward");
  finish("forward", test::pass_result({{-1, -2}}));
  CHECK(part("training client model-1").last_reason == "an exception: no thread");
  pass(2s); // the result is polled again
  REQUIRE(broken->jobs.size() == 1);
  broken->jobs.front()();
  broken->jobs.clear();
  run();
  accept(Endpoint::forward_backward, "backward");
  finish("backward", test::pass_result({{-1, -2}}));
  CHECK(came(answer));
  CHECK(sent_to(Endpoint::forward).size() == 1);
}

TEST_CASE_METHOD(Fixture,
                 "A custom loss that never returns can be given up, and what is behind it goes on",
                 "[actors][supervision][custom_loss]") {
  auto client = open();
  auto id = std::make_shared<std::uint64_t>(0);
  auto failure = std::make_shared<std::optional<Error>>();
  CustomLossFn loss = [](const CustomLossInput&) -> Result<CustomLossValue> {
    return fail(Errc::internal, "not reached");
  };
  CourierTask task = [=](caf::event_based_actor* self) {
    auto request
        = self->request(client, caf::infinite, atom::custom_loss_v, make_batch({datum()}), loss);
    *id = call_id(request);
    request.then([](const ForwardBackwardOutput&) {},
                 [=](const caf::error& error) { *failure = from_caf(error); });
  };
  caf::anon_send(asker(), std::move(task));
  run();
  auto behind = optim_step(client);
  accept(Endpoint::forward, "forward");
  finish("forward", test::pass_result({{-1, -2}}));
  REQUIRE(threads->jobs.size() == 1); // it has begun and does not come back
  CHECK(steps().empty());
  tell_as(asker(), client, atom::cancel_v, *id);
  run();
  REQUIRE(failure->has_value());
  CHECK((*failure)->code == Errc::cancelled);
  CHECK(steps() == Numbers{2});
  CHECK_FALSE(behind->has_value());
}

TEST_CASE_METHOD(Fixture, "A client that breaks for ever is given up, and its neighbour works on",
                 "[actors][supervision][training]") {
  auto poor = open();
  auto rich = make_training_client();
  auto lost_answer = optim_step(poor);
  auto good = optim_step(rich);
  for (int i = 0; i < 6; ++i) {
    kill(test::worker_of(poor));
    pass(10s);
  }
  REQUIRE(lost_answer->has_value());
  CHECK((*lost_answer)->error().code == Errc::gave_up);
  CHECK(notices.back()
        == Notice{Severity::error,
                  "the training client model-1 has ended: the training client broke "
                  "6 times and is given up: a kill"});
  for (int i = 0; i < 7; ++i)
    transport->answer(path(Endpoint::optim_step), test::json(200, R"({"request_id":"good"})"));
  run();
  finish("good", "{}");
  CHECK(came(good));
}

TEST_CASE_METHOD(Fixture, "A client that ends in order is not started again",
                 "[actors][supervision][training]") {
  auto client = open();
  auto answer = optim_step(client);
  auto worker = test::worker_of(client);
  caf::anon_send_exit(worker, caf::exit_reason::user_shutdown);
  pass(1min);
  REQUIRE(answer->has_value());
  CHECK((*answer)->error().code == Errc::cancelled);
  CHECK(parts().clients.empty());
}

// --- pollers and HTTP ----------------------------------------------------------------------------

TEST_CASE_METHOD(Fixture,
                 "The poller supervisor killed with three results outstanding: all three callers "
                 "get them",
                 "[actors][supervision][poller]") {
  auto client = open();
  std::vector<test::Answer<OptimStepResponse>> answers;
  for (const auto* id : {"one", "two", "three"}) {
    answers.push_back(optim_step(client));
    accept(Endpoint::optim_step, id);
  }
  kill(test::behind(parts().pollers));
  pass(pause);
  for (const auto* id : {"one", "two", "three"})
    finish(id, "{}");
  for (const auto& answer : answers)
    CHECK(came(answer));
  CHECK(steps() == Numbers{1, 2, 3});
  CHECK(part("pollers").restarts == 1);
}

TEST_CASE_METHOD(Fixture, "One result whose pollers break for ever costs its neighbours nothing",
                 "[actors][supervision][poller]") {
  auto client = open();
  std::vector<test::Answer<OptimStepResponse>> answers;
  for (int i = 0; i < 150; ++i) {
    answers.push_back(optim_step(client));
    accept(Endpoint::optim_step, "step-" + std::to_string(i));
  }
  for (int i = 0; i < 6; ++i) {
    auto statuses = ask<PollerStatuses>(parts().pollers, atom::status_v);
    run();
    for (const auto& status : (*statuses)->value())
      if (status.request_id == "step-7" || (i < 4 && status.poller))
        kill(caf::actor_cast<caf::actor>(status.poller));
    pass(2s);
  }
  REQUIRE(answers[7]->has_value());
  CHECK((*answers[7])->error().code == Errc::gave_up);
  for (int i = 0; i < 150; ++i)
    results["step-" + std::to_string(i)] = "{}";
  pass(10s);
  for (std::size_t i = 0; i < answers.size(); ++i)
    if (i != 7)
      CHECK(came(answers[i]));
}

TEST_CASE_METHOD(Fixture,
                 "The HTTP actor killed with a submission and polls under way: both go on with the "
                 "next one",
                 "[actors][supervision][http]") {
  auto client = open();
  auto polled = optim_step(client);
  accept(Endpoint::optim_step, "one");
  auto submitted = optim_step(client);
  CHECK(steps() == Numbers{1, 2});
  kill(caf::actor_cast<caf::actor>(http));
  CHECK(transport->open_count() == 0); // its exchanges have ended with it
  pass(pause);
  CHECK(steps() == Numbers{1, 2, 2});
  accept(Endpoint::optim_step, "two");
  finish("one", "{}");
  finish("two", "{}");
  CHECK(came(polled));
  CHECK(came(submitted));
  CHECK(part("http").restarts == 1);
}

TEST_CASE_METHOD(Fixture,
                 "A call without a number is not repeated when the HTTP actor breaks over it",
                 "[actors][supervision][http]") {
  auto client = open();
  auto unloaded = ask<UnloadModelResponse>(client, atom::unload_v);
  run();
  kill(caf::actor_cast<caf::actor>(http));
  pass(1s);
  REQUIRE(unloaded->has_value());
  CHECK((*unloaded)->error().ambiguous);
  CHECK(sent_to(Endpoint::unload_model).size() == 1);
}

TEST_CASE_METHOD(Fixture, "The HTTP actor killed while the session opens: it opens",
                 "[actors][supervision][http]") {
  spawn_session();
  auto id = ask<std::string>(session_actor, atom::open_v);
  while (transport->sent.size() < 2)
    REQUIRE(run_one());
  kill(caf::actor_cast<caf::actor>(http));
  pass(pause);
  REQUIRE(came(id));
  CHECK((*id)->value() == "session-1");
}

TEST_CASE_METHOD(Fixture, "Heartbeats go on while a client is stuck and after HTTP was restarted",
                 "[actors][supervision][heartbeat]") {
  auto client = open();
  auto stuck = optim_step(client); // never answered
  kill(caf::actor_cast<caf::actor>(http));
  pass(10s);
  CHECK(sent_to(Endpoint::session_heartbeat).size() == 1);
  pass(10s);
  CHECK(sent_to(Endpoint::session_heartbeat).size() == 2);
  CHECK_FALSE(stuck->has_value());
}

TEST_CASE_METHOD(Fixture, "Heartbeats go on while a checkpoint is restored",
                 "[actors][supervision][heartbeat]") {
  open_session();
  auto restored = ask<TrainingClientActor>(
      session_actor, CreateTrainingClientFromState{"tinker://r/weights/c", true, {}});
  run();
  REQUIRE(
      transport->answer("/api/v1/weights_info",
                        test::json(200, R"({"base_model":"tiny","is_lora":true,"lora_rank":4})")));
  run();
  accept(Endpoint::load_weights, "load"); // its result takes its time
  for (std::size_t beats = 1; beats <= 6; ++beats) {
    pass(10s);
    CHECK(sent_to(Endpoint::session_heartbeat).size() == beats);
  }
  CHECK_FALSE(restored->has_value());
  finish("load", R"({"path":"tinker://r/weights/c"})");
  CHECK(came(restored));
}

TEST_CASE_METHOD(Fixture, "A session ends when its HTTP actor breaks too often, and tells everyone",
                 "[actors][supervision][http]") {
  auto client = open();
  auto answer = optim_step(client);
  for (int i = 0; i < 6; ++i) {
    kill(caf::actor_cast<caf::actor>(http));
    pass(5s);
  }
  REQUIRE(answer->has_value());
  CHECK_FALSE((*answer)->has_value());
  auto later = ask<std::string>(session_actor, atom::open_v);
  run();
  REQUIRE(later->has_value());
  CHECK((*later)->error().code == Errc::cancelled);
}

// --- gate, budgets, telemetry --------------------------------------------------------------------

TEST_CASE_METHOD(Fixture, "What a killed client held of the budget comes back",
                 "[actors][supervision][budget]") {
  config.fwdbwd_dispatch_bytes_semaphore_size = 1;
  auto greedy = open();
  forward_backward(greedy, {datum()}); // overdraws the budget and is not answered
  auto other = make_training_client();
  auto waiting = forward_backward(other, {datum()});
  CHECK(sent_to(Endpoint::forward_backward).empty()); // it waits for room
  kill(caf::actor_cast<caf::actor>(greedy));
  CHECK(sent_to(Endpoint::forward_backward).size() == 1);
  CHECK_FALSE(waiting->has_value());
}

TEST_CASE_METHOD(Fixture, "The dispatch budget killed with passes waiting: they leave",
                 "[actors][supervision][budget]") {
  config.fwdbwd_dispatch_bytes_semaphore_size = 1;
  auto first = open();
  forward_backward(first, {datum()});
  auto second = make_training_client();
  forward_backward(second, {datum()});
  CHECK(sent_to(Endpoint::forward_backward).empty());
  kill(test::behind(parts().dispatch_budget));
  pass(pause);
  CHECK(sent_to(Endpoint::forward_backward).size() == 1);
}

TEST_CASE_METHOD(Fixture, "The sampling gate killed with samples waiting: they are drawn",
                 "[actors][supervision][gate]") {
  config.sample_dispatch_bytes_semaphore_size = 1;
  open_session();
  auto client = make_sampling_client();
  auto first = sample(client);
  auto second = sample(client);
  CHECK(samples() == Numbers{0});
  kill(test::behind(parts().gate));
  pass(pause);
  CHECK(samples() == Numbers{0, 1});
  accept(Endpoint::asample, "zero");
  accept(Endpoint::asample, "one");
  finish("zero", sampled(10));
  finish("one", sampled(11));
  CHECK(came(first));
  CHECK(came(second));
}

TEST_CASE_METHOD(Fixture,
                 "The sampling gate killed while a refused sample waits: it is submitted "
                 "under its old number",
                 "[actors][supervision][gate]") {
  open_session();
  auto client = make_sampling_client();
  auto answer = sample(client);
  refuse(Endpoint::asample, test::json(429, "{}"));
  kill(test::behind(parts().gate));
  pass(2s);
  CHECK(samples() == Numbers{0, 0});
  accept(Endpoint::asample, "zero");
  finish("zero", sampled(10));
  CHECK(came(answer));
}

TEST_CASE_METHOD(Fixture, "Telemetry that breaks again and again is nobody's business",
                 "[actors][supervision][telemetry]") {
  settings.options.telemetry = true;
  auto client = open();
  auto step = optim_step(client);
  for (int i = 0; i < 8; ++i) {
    if (parts().telemetry)
      kill(test::behind(parts().telemetry));
    pass(2s);
  }
  accept(Endpoint::optim_step, "one");
  finish("one", "{}");
  CHECK(came(step));
  auto closed = ask<bool>(session_actor, atom::close_v);
  run();
  CHECK(closed->has_value());
}

// --- the sampling client -------------------------------------------------------------------------

TEST_CASE_METHOD(Fixture,
                 "A sampling client killed with samples in flight: one is polled on, one is drawn "
                 "under a new number",
                 "[actors][supervision][sampling]") {
  open_session();
  auto client = make_sampling_client();
  auto known = sample(client);
  accept(Endpoint::asample, "known");
  auto unknown = sample(client);
  auto logprobs = ask<PromptLogprobs>(client, atom::compute_logprobs_v, ModelInput::from_ints({1}));
  run();
  CHECK(samples() == Numbers{0, 1, 2});
  kill(test::worker_of(client));
  pass(pause);
  CHECK(sent_to(Endpoint::create_sampling_session).empty()); // it is the same one
  CHECK(samples() == Numbers{0, 1, 2, 3, 4});
  for (const auto* id : {"three", "four"}) // the other two were given up with their asker
    accept(Endpoint::asample, id);
  finish("known", sampled(10));
  finish("three", sampled(13));
  REQUIRE(came(known));
  CHECK((*known)->value().sequences.at(0).tokens == std::vector<Token>{10});
  REQUIRE(came(unknown));
  CHECK((*unknown)->value().sequences.at(0).tokens == std::vector<Token>{13});
  CHECK_FALSE(logprobs->has_value());
  auto next = sample(client);
  CHECK(samples().back() == 5);
  CHECK(part("sampling client sampling-1").restarts == 1);
}

// --- the tree, and the end -----------------------------------------------------------------------

TEST_CASE_METHOD(Fixture, "The tree names who is supervised, with pollers below their supervisor",
                 "[actors][supervision]") {
  auto client = open();
  (void)optim_step(client);
  accept(Endpoint::optim_step, "one");
  kill(test::behind(parts().gate));
  auto whole = tree();
  CHECK(whole.session.name == "session session-1");
  std::vector<std::string> names;
  for (const auto& x : whole.session.parts)
    names.push_back(x.name);
  CHECK(names
        == std::vector<std::string>{"http", "sampling gate", "response budget", "dispatch budget",
                                    "pollers", "training client model-1"});
  CHECK(whole.session.parts[1].state == PartState::restarting);
  REQUIRE(whole.session.parts[4].parts.size() == 1);
  CHECK(whole.session.parts[4].parts[0].name == "poller OptimStep one");
  CHECK(to_text(whole)
        == "session session-1: running\n"
           "  http: running\n"
           "  sampling gate: restarting, 1 restart, last because of a kill\n"
           "  response budget: running\n"
           "  dispatch budget: running\n"
           "  pollers: running\n"
           "    1 poller without a restart\n"
           "  training client model-1: running\n");
}

TEST_CASE_METHOD(Fixture, "A session that is killed with work outstanding answers all of it",
                 "[actors][supervision][shutdown]") {
  auto client = open();
  auto polled = optim_step(client);
  accept(Endpoint::optim_step, "one");
  auto submitted = optim_step(client);
  auto queued = custom(client, [](const CustomLossInput&) -> Result<CustomLossValue> {
    return fail(Errc::internal, "not reached");
  });
  kill(caf::actor_cast<caf::actor>(session_actor));
  pass(1min);
  for (const auto& answer : {polled, submitted}) {
    REQUIRE(answer->has_value());
    CHECK((*answer)->error().code == Errc::cancelled);
  }
  REQUIRE(queued->has_value());
  CHECK((*queued)->error().code == Errc::cancelled);
  CHECK(transport->open_count() == 0);
}

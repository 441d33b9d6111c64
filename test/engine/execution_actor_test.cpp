// SPDX-License-Identifier: Apache-2.0
#include "engine/execution_actor.hpp"

#include "test/actors/actor_fixture.hpp"
#include "test/engine/engine_data.hpp"

#include <functional>
#include <map>
#include <string>
#include <utility>

using namespace tinkaf;
using test::batch_of;

namespace {

/// What a training client was asked for, and the answers that it still owes.
struct Script {
  std::string trace;
  std::map<std::string, std::function<void(std::optional<Error>)>> owed;
  std::map<std::string, int> counts;

  /// Gives an answer, when the client is told to by `atom::cancel`.
  std::function<void()> give;

  template <class T, class Self>
  caf::typed_response_promise<T> take(Self* self, const std::string& kind, T value) {
    const auto name = kind + std::to_string(++counts[kind]);
    trace += (trace.empty() ? "" : " ") + name;
    auto answer = owe<T>(self);
    owed[name] = [answer, value = std::move(value)](std::optional<Error> error) {
      if (error)
        answer.fail(std::move(*error));
      else
        answer.deliver(value);
    };
    return answer.promise();
  }
};

template <class... Ts>
caf::error refuse(Ts&&...) {
  return to_caf({.code = Errc::internal, .message = "not in this test"});
}

ForwardBackwardOutput output_of(const Batch& batch) {
  ForwardBackwardOutput output;
  for (const auto& datum : *batch) {
    const auto size = datum.loss_fn_inputs.at("target_tokens").size();
    output.loss_fn_outputs.push_back(
        {{"logprobs", TensorData::of(std::vector<float>(size, -0.5F))}});
  }
  return output;
}

TrainingClientActor::behavior_type scripted(TrainingClientActor::pointer self,
                                            std::shared_ptr<Script> script) {
  return {
      [](atom::open) -> caf::result<std::string> { return refuse(); },
      [=](atom::forward_backward, const ForwardBackwardInput& input) {
        return script->take(self, "fb", output_of(input.data));
      },
      [=](atom::forward, const ForwardBackwardInput& input) {
        return script->take(self, "fw", output_of(input.data));
      },
      [=](atom::custom_loss, const Batch& data, const CustomLossFn&) {
        return script->take(self, "fc", output_of(data));
      },
      [=](const AdamParams&) { return script->take(self, "o", OptimStepResponse{}); },
      [=](atom::save_state, const std::string& name, const SaveWeightsOptions&) {
        return script->take(self, "st", SaveWeightsResponse{"tinker://run/weights/" + name});
      },
      [](atom::load_state, const std::string&, bool) -> caf::result<LoadWeightsResponse> {
        return refuse();
      },
      [=](atom::save_for_sampler, const std::string& name, const SaveWeightsOptions&) {
        return script->take(
            self, "sv",
            SaveWeightsForSamplerResponse{"tinker://run/sampler_weights/" + name, std::nullopt});
      },
      [](atom::save_for_sampler) -> caf::result<SaveWeightsForSamplerResponse> { return refuse(); },
      [](atom::get_sampler) -> caf::result<SamplingClientActor> { return refuse(); },
      [](atom::get_info) -> caf::result<ModelInfo> { return refuse(); },
      [](atom::unload) -> caf::result<UnloadModelResponse> { return refuse(); },
      // An answer is given by the actor that owes it.
      [=](atom::cancel, std::uint64_t) { std::exchange(script->give, nullptr)(); },
      [](atom::status, std::uint64_t) -> caf::result<CallStatus> { return refuse(); },
      [](atom::computed, std::uint64_t, const LinearLossOutcome&) {},
  };
}

Op step() {
  return TrainOp{.datums = batch_of({4}), .loss = CrossEntropy{}};
}

Op snapshot(const std::string& name) {
  return SnapshotOp{.name = name, .ttl = {}, .eval = batch_of({2})};
}

struct Fixture : test::ActorFixture {
  std::shared_ptr<Script> script = std::make_shared<Script>();
  TrainingClientActor client = spawn(scripted, script);
  std::shared_ptr<SpendCap> cap;
  ExecutionActor run_actor;

  ~Fixture() {
    drop_all();
  }

  /// Lets the client end as one does that owes answers.
  void drop_all() {
    script->give = [this] { script->owed.clear(); };
    tell_as(asker(), client, atom::cancel_v, std::uint64_t{0});
    run();
  }

  template <class Ops>
  void start(Ops ops) {
    run_actor = spawn(execution, client, std::make_shared<Pipeline>(std::move(ops), cap));
  }

  test::Answer<ExecutionNext> next() {
    auto answer = ask<ExecutionNext>(run_actor, atom::next_v);
    run();
    return answer;
  }

  void answer(const std::vector<std::string>& names) {
    for (const auto& name : names) {
      INFO(name);
      REQUIRE(script->owed.contains(name));
      give(name, {});
    }
  }

  void fail_request(const std::string& name) {
    give(name, Error{.code = Errc::request_failed, .message = name + " failed"});
  }

  void give(const std::string& name, std::optional<Error> error) {
    script->give = [=, this] { script->owed.at(name)(error); };
    tell_as(asker(), client, atom::cancel_v, std::uint64_t{0});
    run();
  }

  /// The result that an answer holds; it has to be one.
  static OpResult result_of(const test::Answer<ExecutionNext>& answer) {
    REQUIRE(answer->has_value());
    REQUIRE((*answer)->has_value());
    REQUIRE((**answer)->step.has_value());
    REQUIRE((**answer)->step->has_value());
    return (**answer)->step->value();
  }

  static bool is_end(const test::Answer<ExecutionNext>& answer) {
    REQUIRE(answer->has_value());
    REQUIRE((*answer)->has_value());
    return !(**answer)->step.has_value();
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "A run submits nothing before its first result is asked for",
                 "[engine][actor]") {
  start(Schedule{step(), step(), step()});
  run();
  CHECK(script->trace.empty());
  const auto first = next();
  CHECK(script->trace == "fb1 o1 fb2 o2");
  CHECK_FALSE(first->has_value());
}

TEST_CASE_METHOD(Fixture,
                 "Results come in the order of the schedule, whatever the service is done "
                 "with first",
                 "[engine][actor]") {
  start(Schedule{step(), snapshot("a"), step()});
  const auto first = next();
  const auto second = next();
  answer({"fw1", "fb2", "st1", "o2", "sv1", "o1"});
  CHECK_FALSE(first->has_value());
  answer({"fb1"});
  CHECK(std::holds_alternative<TrainDone>(result_of(first)));
  const auto saved = std::get<SnapshotDone>(result_of(second));
  CHECK(saved.sampler_path == "tinker://run/sampler_weights/a");
  CHECK(saved.state_path == "tinker://run/weights/a");
  CHECK(saved.outputs->size() == 1);
  CHECK(std::holds_alternative<TrainDone>(result_of(next())));
  CHECK(is_end(next()));
  CHECK(is_end(next()));
}

TEST_CASE_METHOD(Fixture, "An endless schedule goes no further than it is read",
                 "[engine][actor]") {
  auto drawn = std::make_shared<int>(0);
  start(OpSource{[drawn]() -> Result<std::optional<Op>> {
    ++*drawn;
    return step();
  }});
  const auto first = next();
  answer({"fb1", "o1", "fb2", "o2"});
  CHECK(std::holds_alternative<TrainDone>(result_of(first)));
  CHECK(*drawn == 2);
  CHECK(std::holds_alternative<TrainDone>(result_of(next())));
  CHECK(script->trace == "fb1 o1 fb2 o2 fb3 o3");
}

TEST_CASE_METHOD(Fixture, "Several results may be asked for at once", "[engine][actor]") {
  start(Schedule{step(), step(), step(), step()});
  auto asked = std::vector{next(), next(), next()};
  answer({"fb1", "o1"});
  CHECK(script->trace == "fb1 o1 fb2 o2 fb3 o3");
  answer({"fb2", "o2"});
  CHECK(script->trace == "fb1 o1 fb2 o2 fb3 o3 fb4 o4");
  answer({"fb3", "o3"});
  for (const auto& one : asked)
    CHECK(std::holds_alternative<TrainDone>(result_of(one)));
}

TEST_CASE_METHOD(Fixture, "A custom loss goes by its own way and holds back no earlier result",
                 "[engine][actor]") {
  start(Schedule{step(), TrainOp{.datums = batch_of({2}), .loss = test::raise_all()}});
  const auto first = next();
  CHECK(script->trace == "fb1 o1 fc1 o2");
  answer({"fb1", "o1"});
  CHECK(std::holds_alternative<TrainDone>(result_of(first)));
}

TEST_CASE_METHOD(Fixture, "A run that fails waits for what is under way, tells it, and is over",
                 "[engine][actor][errors]") {
  start(Schedule{step(), step(), step()});
  const auto first = next();
  fail_request("fb1");
  CHECK_FALSE(first->has_value());
  answer({"o1", "fb2"});
  CHECK_FALSE(first->has_value());
  answer({"o2"});
  REQUIRE(first->has_value());
  const auto& failed = (**first)->step;
  REQUIRE_FALSE(failed->has_value());
  CHECK(failed->error().op == 0);
  CHECK(failed->error().in_flight == 1);
  CHECK(failed->error().error.message.find("fb1 failed") != std::string::npos);
  CHECK(is_end(next()));
  CHECK(script->trace == "fb1 o1 fb2 o2");
}

TEST_CASE_METHOD(Fixture, "A schedule that its cap forbids is told without a request",
                 "[engine][actor][spend_cap]") {
  cap = SpendCap::make(0.0, {.train = 1.0}).value();
  start(Schedule{step()});
  const auto first = next();
  REQUIRE(first->has_value());
  CHECK_FALSE((**first)->step->has_value());
  CHECK(script->trace.empty());
}

TEST_CASE_METHOD(Fixture, "A client that ends fails the run, and a run that ends its readers",
                 "[engine][actor][errors]") {
  SECTION("the client") {
    start(Schedule{step()});
    const auto first = next();
    drop_all();
    REQUIRE(first->has_value());
    REQUIRE_FALSE((**first)->step->has_value());
    CHECK((**first)->step->error().error.code == Errc::cancelled);
  }
  SECTION("the run") {
    cap = SpendCap::make(1.0, {.train = 1.0}).value();
    start(Schedule{step(), step()});
    const auto first = next();
    kill(caf::actor_cast<caf::actor>(run_actor));
    REQUIRE(first->has_value());
    REQUIRE_FALSE((*first)->has_value());
    CHECK((*first)->error().code == Errc::cancelled);
    CHECK(cap->spent() == cost({.train = 8}, {.train = 1.0})); // it was submitted
  }
}

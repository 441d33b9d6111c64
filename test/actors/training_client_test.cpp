// SPDX-License-Identifier: Apache-2.0
#include "actors/training_client.hpp"

#include "actors/weights_info.hpp"
#include "test/actors/scripted_service.hpp"

#include <cmath>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

Datum datum(float weight) {
  return {.model_input = ModelInput::from_ints({1, 2}),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{2, 3})},
                             {"weights", TensorData::of(std::vector<float>{weight, weight})}}};
}

/// The result of a part with one datum, as older services write it.
std::string part_result(double loss, float logprob) {
  return wire::to_json(ForwardBackwardOutput{
                           .loss_fn_output_type = "TensorOutput",
                           .loss_fn_outputs
                           = {{{"logprobs", TensorData::of(std::vector<float>{logprob, logprob})}}},
                           .metrics = {{"loss:sum", loss}}})
      .value();
}

std::vector<std::int64_t> optim_numbers(const std::vector<HttpRequest>& requests) {
  std::vector<std::int64_t> result;
  for (const auto& request : requests)
    result.push_back(wire::from_json<OptimStepRequest>(*request.body).value().seq_id.value());
  return result;
}

std::vector<std::int64_t> pass_numbers(const std::vector<HttpRequest>& requests) {
  std::vector<std::int64_t> result;
  for (const auto& request : requests)
    result.push_back(wire::from_json<ForwardBackwardRequest>(*request.body).value().seq_id.value());
  return result;
}

struct Fixture : test::ServiceFixture {
  Fixture() {
    settings.options.wire_format = WireFormat::json;
  }

  TrainingClientActor open() {
    open_session();
    return make_training_client();
  }

  auto optim_step(const TrainingClientActor& client) {
    auto answer = ask<OptimStepResponse>(client, AdamParams{});
    run();
    return answer;
  }

  auto forward_backward(const TrainingClientActor& client, std::vector<Datum> data) {
    auto answer = ask<ForwardBackwardOutput>(client, atom::forward_backward_v,
                                             ForwardBackwardInput{make_batch(std::move(data))});
    run();
    return answer;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "Operations leave one after the other, numbered as they arrived",
                 "[actors][training]") {
  auto client = open();
  auto first = optim_step(client);
  auto second = optim_step(client);
  CHECK(optim_numbers(sent_to(Endpoint::optim_step)) == std::vector<std::int64_t>{1});
  accept(Endpoint::optim_step, "one");
  CHECK(optim_numbers(sent_to(Endpoint::optim_step)) == std::vector<std::int64_t>{1, 2});
  accept(Endpoint::optim_step, "two");

  finish("two", R"({"metrics":{"step":2}})"); // results come in any order
  REQUIRE(second->has_value());
  CHECK((*second)->value().metrics.at("step") == 2);
  CHECK_FALSE(first->has_value());
  finish("one", R"({"metrics":{"step":1}})");
  REQUIRE(first->has_value());
  CHECK((*first)->value().metrics.at("step") == 1);
}

TEST_CASE_METHOD(Fixture, "A batch in parts sends its first part last and comes back whole",
                 "[actors][training]") {
  config.fwdbwd_max_chunk_len = 1;
  auto client = open();
  auto answer = forward_backward(client, {datum(1), datum(2), datum(3)});
  auto behind = optim_step(client);
  CHECK(pass_numbers(sent_to(Endpoint::forward_backward)) == std::vector<std::int64_t>{2, 3});
  accept(Endpoint::forward_backward, "part-2");
  accept(Endpoint::forward_backward, "part-3");
  CHECK(pass_numbers(sent_to(Endpoint::forward_backward)) == std::vector<std::int64_t>{2, 3, 1});
  CHECK(sent_to(Endpoint::optim_step).empty());
  accept(Endpoint::forward_backward, "part-1");
  CHECK(optim_numbers(sent_to(Endpoint::optim_step)) == std::vector<std::int64_t>{4});

  finish("part-3", part_result(30, -3));
  finish("part-1", part_result(10, -1));
  CHECK_FALSE(answer->has_value());
  finish("part-2", part_result(20, -2));
  REQUIRE(answer->has_value());
  REQUIRE((*answer)->has_value());
  const auto& output = (*answer)->value();
  CHECK(output.metrics.at("loss:sum") == 60);
  REQUIRE(output.loss_fn_outputs.size() == 3);
  CHECK(output.loss_fn_outputs[2].at("logprobs").floats()->front() == -3);
}

TEST_CASE_METHOD(Fixture, "A refused operation has used its number up", "[actors][training]") {
  auto client = open();
  auto refused = optim_step(client);
  refuse(Endpoint::optim_step, test::json(400, R"({"detail":"no"})"));
  REQUIRE(refused->has_value());
  CHECK((*refused)->error().code == Errc::invalid_argument);
  optim_step(client);
  CHECK(optim_numbers(sent_to(Endpoint::optim_step)) == std::vector<std::int64_t>{1, 2});
}

TEST_CASE_METHOD(Fixture, "An operation refused at the door gives its number back",
                 "[actors][training]") {
  auto status = GENERATE(401, 403, 413);
  auto client = open();
  auto refused = optim_step(client);
  refuse(Endpoint::optim_step, test::json(status, R"({"detail":"no"})"));
  REQUIRE(refused->has_value());
  optim_step(client);
  CHECK(optim_numbers(sent_to(Endpoint::optim_step)) == std::vector<std::int64_t>{1, 1});
}

TEST_CASE_METHOD(Fixture, "A part that fails is told with what was accepted",
                 "[actors][training]") {
  config.fwdbwd_max_chunk_len = 1;
  auto client = open();
  auto answer = forward_backward(client, {datum(1), datum(2), datum(3)});
  accept(Endpoint::forward_backward, "part-2");
  refuse(Endpoint::forward_backward, test::json(400, R"({"detail":"datum 2 is too long"})"));
  accept(Endpoint::forward_backward, "part-1"); // sent all the same: its number must not be missing
  REQUIRE(answer->has_value());
  REQUIRE_FALSE((*answer)->has_value());
  CHECK((*answer)->error().message.find("datum 2 is too long") != std::string::npos);
  CHECK((*answer)->error().message.find("2 of 3 parts") != std::string::npos);
  CHECK((*answer)->error().parts == 3);
  CHECK((*answer)->error().accepted_parts == 2);
  optim_step(client);
  CHECK(optim_numbers(sent_to(Endpoint::optim_step)) == std::vector<std::int64_t>{4});
}

TEST_CASE_METHOD(Fixture, "An operation that never left gives its number back",
                 "[actors][training]") {
  auto client = open();
  auto unsent = optim_step(client);
  while (!unsent->has_value()) {
    refuse(Endpoint::optim_step, test::no_connection(false));
    pass(10s);
  }
  CHECK((*unsent)->error().code == Errc::connection);
  auto before = sent_to(Endpoint::optim_step).size();
  optim_step(client);
  auto numbers = optim_numbers(sent_to(Endpoint::optim_step));
  REQUIRE(numbers.size() == before + 1);
  CHECK(numbers.back() == 1);
}

TEST_CASE_METHOD(Fixture, "Behind an operation that was lost all others say so",
                 "[actors][training]") {
  auto client = open();
  auto lost = optim_step(client);
  auto queued = optim_step(client);
  while (!lost->has_value()) {
    refuse(Endpoint::optim_step, test::no_connection(true));
    pass(10s);
  }
  CHECK((*lost)->error().ambiguous);
  auto later = optim_step(client);
  for (const auto& answer : {queued, later}) {
    REQUIRE(answer->has_value());
    CHECK((*answer)->error().code == Errc::request_failed);
    CHECK((*answer)->error().message.find("checkpoint") != std::string::npos);
  }
}

TEST_CASE_METHOD(Fixture, "A lost reply is made good by the same number and key",
                 "[actors][training]") {
  auto client = open();
  auto answer = optim_step(client);
  refuse(Endpoint::optim_step, test::no_connection(true));
  pass(1s);
  auto requests = sent_to(Endpoint::optim_step);
  REQUIRE(requests.size() == 2);
  CHECK(*requests[0].body == *requests[1].body);
  CHECK(test::header(requests[0].headers, "X-Idempotency-Key")
        == test::header(requests[1].headers, "X-Idempotency-Key"));
  accept(Endpoint::optim_step, "one");
  finish("one", "{}");
  REQUIRE(answer->has_value());
  CHECK((*answer)->has_value());
}

TEST_CASE_METHOD(Fixture, "What cannot be sent takes no number", "[actors][training]") {
  auto client = open();
  auto empty = forward_backward(client, {});
  REQUIRE(empty->has_value());
  CHECK((*empty)->error().code == Errc::invalid_argument);

  auto broken = forward_backward(client, {datum(1), datum(std::nanf(""))});
  REQUIRE(broken->has_value());
  CHECK((*broken)->error().message.find("data[1].loss_fn_inputs.weights") != std::string::npos);

  auto rate = ask<OptimStepResponse>(client, AdamParams{.learning_rate = -1});
  run();
  REQUIRE(rate->has_value());
  CHECK((*rate)->error().message.find("learning_rate") != std::string::npos);

  optim_step(client);
  CHECK(optim_numbers(sent_to(Endpoint::optim_step)) == std::vector<std::int64_t>{1});
}

TEST_CASE_METHOD(Fixture, "A service that refuses protobuf gets JSON from then on",
                 "[actors][training][wire_format]") {
  settings.options.wire_format = WireFormat::automatic;
  auto client = open();
  auto answer = forward_backward(client, {datum(1)});
  refuse(Endpoint::forward_backward, test::json(415, R"({"detail":"JSON only"})"));
  accept(Endpoint::forward_backward, "one");
  finish("one", part_result(1, -1));
  REQUIRE(answer->has_value());
  CHECK((*answer)->has_value());
  forward_backward(client, {datum(1)});
  auto requests = sent_to(Endpoint::forward_backward);
  REQUIRE(requests.size() == 3);
  CHECK(test::header(requests[0].headers, "Content-Type") == "application/x-protobuf");
  CHECK(test::header(requests[1].headers, "Content-Type") == "application/json");
  CHECK(test::header(requests[2].headers, "Content-Type") == "application/json");
  CHECK(pass_numbers({requests[1], requests[2]}) == std::vector<std::int64_t>{1, 2});
}

TEST_CASE_METHOD(Fixture, "A client from a checkpoint creates its like and loads it first",
                 "[actors][training]") {
  open_session();
  auto made = ask<TrainingClientActor>(
      session_actor, CreateTrainingClientFromState{"tinker://run/weights/one", true, {}});
  run();
  REQUIRE(
      transport->answer("/api/v1/weights_info",
                        test::json(200, R"({"base_model":"tiny","is_lora":true,"lora_rank":8})")));
  run();
  CHECK_FALSE(made->has_value());
  accept(Endpoint::load_weights, "load");
  finish("load", "{}");
  REQUIRE(made->has_value());
  REQUIRE((*made)->has_value());
  opened_with = 0;
  optim_step((*made)->value());
  CHECK(optim_numbers(sent_to(Endpoint::optim_step)) == std::vector<std::int64_t>{2});
}

TEST_CASE("What a checkpoint was made of is read with care", "[actors][training]") {
  auto info
      = read_weights_info(R"({"base_model":"m","is_lora":true,"lora_rank":8,"train_mlp":false})");
  REQUIRE(info.has_value());
  CHECK(info->lora_config.rank == 8);
  CHECK_FALSE(info->lora_config.train_mlp);
  CHECK(info->lora_config.train_attn);
  for (const auto* bad :
       {"", "[]", "{}", R"({"base_model":"m"})", R"({"base_model":"m","lora_rank":"8"})"})
    CHECK(read_weights_info(bad).error().code == Errc::protocol_error);
}

TEST_CASE_METHOD(Fixture, "Saving for sampling keeps its place in the order",
                 "[actors][training]") {
  auto client = open();
  auto saved = ask<SaveWeightsForSamplerResponse>(client, atom::save_for_sampler_v);
  auto step = ask<OptimStepResponse>(client, AdamParams{});
  run();
  REQUIRE(sent_to(Endpoint::save_weights_for_sampler).size() == 1);
  CHECK(sent_to(Endpoint::optim_step).empty());
  accept(Endpoint::save_weights_for_sampler, "save");
  CHECK(optim_numbers(sent_to(Endpoint::optim_step)) == std::vector<std::int64_t>{2});
  finish("save", R"({"sampling_session_id":"sampling-9"})");
  REQUIRE(saved->has_value());
  CHECK((*saved)->value().sampling_session_id == "sampling-9");
}

TEST_CASE_METHOD(Fixture, "Whoever waits is told when the client ends",
                 "[actors][training][shutdown]") {
  auto client = open();
  auto under_way = optim_step(client);
  auto queued = optim_step(client);
  kill(caf::actor_cast<caf::actor>(client));
  for (const auto& answer : {under_way, queued}) {
    REQUIRE(answer->has_value());
    CHECK((*answer)->error().code == Errc::cancelled);
  }
}

TEST_CASE_METHOD(Fixture, "A batch of a million tokens is handed on, not copied",
                 "[actors][training]") {
  auto batch
      = make_batch({Datum{.model_input = ModelInput::from_ints(std::vector<Token>(1'000'000, 7))}});
  const auto* address = batch.get();
  const Datum* seen = nullptr;
  auto last = spawn([&seen](caf::event_based_actor*) -> caf::behavior {
    return {
        [&seen](atom::forward, const ForwardBackwardInput& input) { seen = input.data->data(); }};
  });
  auto between = spawn([last](caf::event_based_actor* self) -> caf::behavior {
    return {[self, last](atom::forward, ForwardBackwardInput& input) {
      self->send(last, atom::forward_v, std::move(input));
    }};
  });
  caf::anon_send(between, atom::forward_v, ForwardBackwardInput{batch});
  run();
  CHECK(seen == address->data());
  CHECK(BatchSlice::whole(batch).data().data() == address->data());
}

TEST_CASE_METHOD(Fixture, "An operation that is given up keeps its place, and its polls stop",
                 "[actors][training][cancel]") {
  open_session();
  auto client = make_training_client();
  auto one = make_asker();
  auto given_up = ask_as<OptimStepResponse>(one, client, AdamParams{});
  run();
  auto next = ask<OptimStepResponse>(client, AdamParams{});
  run();
  accept(Endpoint::optim_step, "one");
  auto polls = [this](const std::string& id) {
    auto all = sent_to(Endpoint::retrieve_future);
    return std::count_if(all.begin(), all.end(), [&](const HttpRequest& x) {
      return x.body->find('"' + id + '"') != std::string::npos;
    });
  };
  REQUIRE(polls("one") > 0);
  tell_as(one, client, atom::cancel_v, std::uint64_t{1}); // the first request of its asker
  run();
  REQUIRE(given_up->has_value());
  CHECK((*given_up)->error().code == Errc::cancelled);
  auto before = polls("one");
  accept(Endpoint::optim_step, "two");
  finish("two", R"({"metrics":{"step":2}})");
  pass(1min);
  CHECK(polls("one") == before);
  REQUIRE(next->has_value());
  CHECK((*next)->value().metrics.at("step") == 2);
  auto requests = sent_to(Endpoint::optim_step);
  REQUIRE(requests.size() == 2);
  CHECK(wire::from_json<OptimStepRequest>(*requests[1].body).value().seq_id == 2);
}

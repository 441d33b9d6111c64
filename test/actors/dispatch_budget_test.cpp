// SPDX-License-Identifier: Apache-2.0
#include "actors/training_client.hpp"
#include "test/actors/training_fixture.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

Datum datum() {
  return {.model_input = ModelInput::from_ints({1, 2}),
          .loss_fn_inputs = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{2, 3})},
                             {"weights", TensorData::of(std::vector<float>{1, 1})}}};
}

struct Fixture : test::TrainingFixture {
  Fixture() {
    config.fwdbwd_max_chunk_len = 1;
    config.fwdbwd_dispatch_bytes_semaphore_size = 10; // less than one datum of 32 bytes
  }

  std::size_t passes_sent() const {
    return sent_to(Endpoint::forward_backward).size();
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "Passes of all clients together stay within the session's budget",
                 "[actors][training][byte_budget]") {
  auto first = open();
  auto second = make_training_client();
  auto begun = forward_backward(first, {datum()});
  auto waits = forward_backward(second, {datum()});
  CHECK(passes_sent() == 1);
  optim_step(second); // behind its pass
  CHECK(sent_to(Endpoint::optim_step).empty());
  accept(Endpoint::forward_backward, "one"); // the result is not waited for
  CHECK(passes_sent() == 2);
  accept(Endpoint::forward_backward, "two");
  CHECK(sent_to(Endpoint::optim_step).size() == 1);
}

TEST_CASE_METHOD(Fixture, "A pass keeps its bytes over its tries",
                 "[actors][training][byte_budget]") {
  auto first = open();
  auto second = make_training_client();
  forward_backward(first, {datum()});
  forward_backward(second, {datum()});
  refuse(Endpoint::forward_backward, test::json(503, "{}"));
  pass(1s);
  CHECK(passes_sent() == 2);
  auto requests = sent_to(Endpoint::forward_backward);
  CHECK(*requests[0].body == *requests[1].body); // the same pass, not the other client's
  refuse(Endpoint::forward_backward, test::json(400, R"({"detail":"no"})"));
  CHECK(passes_sent() == 3);
}

TEST_CASE_METHOD(Fixture, "Parts of a batch leave one by one where the budget is small",
                 "[actors][training][byte_budget]") {
  auto client = open();
  forward_backward(client, {datum(), datum(), datum()});
  CHECK(numbers<ForwardBackwardRequest>(Endpoint::forward_backward)
        == std::vector<std::int64_t>{2});
  accept(Endpoint::forward_backward, "part-2");
  accept(Endpoint::forward_backward, "part-3");
  accept(Endpoint::forward_backward, "part-1");
  CHECK(numbers<ForwardBackwardRequest>(Endpoint::forward_backward)
        == std::vector<std::int64_t>{2, 3, 1});
}

TEST_CASE_METHOD(Fixture, "A client that dies gives its bytes back",
                 "[actors][training][byte_budget][shutdown]") {
  auto first = open();
  auto second = make_training_client();
  forward_backward(first, {datum()});
  forward_backward(second, {datum()});
  CHECK(passes_sent() == 1);
  kill(caf::actor_cast<caf::actor>(first));
  CHECK(passes_sent() == 2);
}

// SPDX-License-Identifier: Apache-2.0
#include "backend/memory_backend.hpp"

#include "test/catch.hpp"
#include "test/engine/engine_data.hpp"

using namespace tinkaf;
using test::batch_of;

TEST_CASE("A backend in memory notes what it was asked for and answers at once",
          "[backend][memory]") {
  MemoryBackend backend;
  const auto output = backend.forward_backward(batch_of({3, 2}));
  REQUIRE(output.ready());
  REQUIRE(output.get()->loss_fn_outputs.size() == 2);
  CHECK(*output.get()->loss_fn_outputs[1].at("logprobs").floats()
        == std::vector<float>{-0.5F, -0.5F});
  CHECK(backend.optim_step({.learning_rate = 0.25}).get()->metrics.at("optim/lr") == 0.25);
  const auto custom = backend.forward_backward_custom(batch_of({3}), test::raise_all().fn);
  CHECK(custom.get()->metrics.at("custom_loss") == 1.0);
  CHECK(backend.forward_backward_calls
        == std::vector{MemoryBackend::ForwardBackwardCall{.datums = 2}});
  CHECK(backend.custom_calls == std::vector<std::size_t>{1});
  CHECK(backend.optim_calls == std::vector{AdamParams{.learning_rate = 0.25}});
}

TEST_CASE("A backend in memory refuses what a service refuses", "[backend][memory][errors]") {
  MemoryBackend backend;
  CHECK_FALSE(backend.forward_backward(make_batch({})).get().has_value());
  CHECK_FALSE(backend.optim_step({.learning_rate = -1.0}).get().has_value());
  CHECK_FALSE(backend.save_for_sampler("").has_value());
  CHECK(backend.save_full_state("a") == "memory://state/a");
  const auto again = backend.save_full_state("a");
  REQUIRE_FALSE(again.has_value());
  CHECK(again.error().code == Errc::conflict);
  const auto threw = backend.forward_backward_custom(
      batch_of({1}),
      [](const CustomLossInput&) -> Result<CustomLossValue> { throw std::runtime_error{"no"}; });
  CHECK_FALSE(threw.get().has_value());
  CHECK_FALSE(backend.get_tokenizer().has_value());
}

TEST_CASE("Snapshots of a backend in memory are labelled like a service's and give answers in turn",
          "[backend][memory]") {
  MemoryBackend backend{{}, {{1, 2}, {3}}};
  CHECK((*backend.snapshot_sampling_client("mine"))->model_path() == "memory://sampler/mine");
  const auto sampler = backend.snapshot_sampling_client().value();
  CHECK(sampler->name() == "snap_1");
  CHECK(backend.sampler_saves == std::vector<std::string>{"mine", "snap_1"});
  const auto samples
      = sampler->sample({.prompt = ModelInput::from_ints({7}), .num_samples = 3}).get();
  REQUIRE(samples.has_value());
  CHECK(samples->sequences.at(0).tokens == std::vector<Token>{1, 2});
  CHECK(samples->sequences.at(1).tokens == std::vector<Token>{3});
  CHECK(samples->sequences.at(2).tokens == std::vector<Token>{1, 2});
  const auto logprobs = sampler->compute_logprobs(ModelInput::from_ints({7, 8})).get();
  CHECK(logprobs.value() == std::vector<std::optional<float>>{std::nullopt, 0.0F});
}

// SPDX-License-Identifier: Apache-2.0
#include "test/client/local_service.hpp"
#include "test/engine/engine_data.hpp"

#include <cstdlib>

#include "backend/tinker_backend.hpp"

using namespace tinkaf;
using namespace std::chrono_literals;

// A backend over real sockets against the local server.

namespace {

constexpr auto limit = 60s;
constexpr auto variable = "TINKAF_TEST_KEY";

struct Fixture : test::LocalService {
  Fixture() {
    ::setenv(variable, "tml-good", 1);
  }

  ~Fixture() {
    ::unsetenv(variable);
  }

  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  [[nodiscard]] TinkerBackendSettings settings() const {
    return {.model_name = "tiny",
            .lora_rank = 4,
            .renderer_name = "plain",
            .api_key_env = variable,
            .options = options("tml-of-nobody"),
            .notices = {}};
  }

  static std::shared_ptr<TinkerBackend> create(TinkerBackendSettings settings) {
    auto made = TinkerBackend::create(std::move(settings));
    if (!made)
      FAIL(to_string(made.error()));
    return *made;
  }

  static double step(Backend& backend) {
    const auto output = backend.forward_backward(test::batch_of({6, 4}), LossFn::cross_entropy, {});
    const auto done = backend.optim_step({.learning_rate = 1e-2});
    REQUIRE(done.get(limit).has_value());
    return output.get(limit)->metrics.at("loss:sum");
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "A backend trains, and a later one goes on where it saved",
                 "[backend][end-to-end]") {
  const auto backend = create(settings());
  const auto first = step(*backend);
  (void)step(*backend);
  const auto state = backend->save_full_state("s").value();
  const auto third = step(*backend);
  CHECK(third < first);

  auto resuming = settings();
  resuming.resume_state_path = state;
  const auto resumed = create(resuming);
  CHECK(step(*resumed) == third);
  auto beginning = settings();
  beginning.init_weights_path = state;
  const auto begun = create(beginning);
  CHECK(step(*begun) == third);
  // Behind a step the optimizer's state tells.
  const auto fourth = step(*backend);
  CHECK(step(*resumed) == fourth);
  CHECK(step(*begun) != fourth);

  const auto rest = backend->service().create_rest_client();
  REQUIRE(rest.has_value());
  const auto run = rest->get_training_run(backend->training_client().model_id()).get(limit);
  REQUIRE(run.has_value());
  CHECK(run->user_metadata == UserMetadata{{"renderer_name", "plain"}});
  CHECK(run->lora_rank == 4);
}

TEST_CASE_METHOD(Fixture, "Snapshots can be sampled from", "[backend][end-to-end]") {
  const auto backend = create(settings());
  const auto sampler = backend->snapshot_sampling_client();
  REQUIRE(sampler.has_value());
  CHECK((*sampler)->name() == "snap_1");
  CHECK((*sampler)->model_path().ends_with("/sampler_weights/snap_1"));
  const auto sampled = (*sampler)
                           ->sample({.prompt = ModelInput::from_ints({40, 41}),
                                     .num_samples = 2,
                                     .sampling_params = {.max_tokens = 3}})
                           .get(limit);
  REQUIRE(sampled.has_value());
  CHECK(sampled->sequences.size() == 2);
  CHECK((*sampler)->compute_logprobs(ModelInput::from_ints({40, 41})).get(limit)->size() == 2);
}

TEST_CASE_METHOD(Fixture, "A key that is wrong is refused as the service says",
                 "[backend][end-to-end][errors]") {
  ::setenv(variable, "tml-wrong-and-secret", 1);
  const auto made = TinkerBackend::create(settings());
  REQUIRE_FALSE(made.has_value());
  CHECK(is_user_error(made.error()));
  CHECK(to_string(made.error()).find("secret") == std::string::npos);
}

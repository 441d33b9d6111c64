// SPDX-License-Identifier: Apache-2.0
#include "backend/tinker_backend.hpp"

#include "test/backend/fake_service.hpp"
#include "test/support/scripted_peer.hpp"

#include <cstdlib>
#include <stdexcept>

using namespace tinkaf;
using namespace std::chrono_literals;

namespace {

constexpr auto limit = 60s;
constexpr auto variable = "TINKAF_TEST_KEY";
const std::string state = "tinker://r/weights/a";
const std::string other_state = "tinker://r/weights/b";

const std::vector<std::string> creations{"create_model", "load_weights"};

struct Fixture {
  test::FakeService service;
  TinkerBackendSettings settings;

  Fixture() {
    ::setenv(variable, "tml-from-variable", 1);
    settings.model_name = "base";
    settings.api_key_env = variable;
    settings.options = service.options();
    settings.notices = {};
  }

  ~Fixture() {
    ::unsetenv(variable);
  }

  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  std::shared_ptr<TinkerBackend> create() {
    auto made = TinkerBackend::create(settings);
    if (!made)
      FAIL(to_string(made.error()));
    return *made;
  }

  Error error() {
    auto made = TinkerBackend::create(settings);
    REQUIRE_FALSE(made.has_value());
    return made.error();
  }

  [[nodiscard]] std::string created_with() const {
    return service.body_of("create_model");
  }

  /// Whether the optimizer's state was asked for.
  [[nodiscard]] bool with_optimizer() const {
    return service.body_of("load_weights").find(R"("optimizer":true)") != std::string::npos;
  }
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Batch batch() {
  return make_batch(
      {Datum{.model_input = ModelInput::from_ints({1, 2}),
             .loss_fn_inputs = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{2, 3})},
                                {"weights", TensorData::of(std::vector<float>{1, 1})}}}});
}

text::Tokenizer tokenizer() {
  return text::Tokenizer::load(std::filesystem::path{TINKAF_SOURCE_DIR} / "models" / "tiny"
                               / "tokenizer.json")
      .value();
}

} // namespace

TEST_CASE_METHOD(Fixture, "A fresh adapter has the rank, and the renderer in its metadata",
                 "[backend][create]") {
  settings.lora_rank = 16;
  settings.renderer_name = "qwen3_5";
  (void)create();
  CHECK(has(created_with(), R"("base_model":"base")"));
  CHECK(has(created_with(), R"("rank":16)"));
  CHECK(has(created_with(), R"("user_metadata":{"renderer_name":"qwen3_5"})"));
  CHECK(service.requests(creations).size() == 1);
}

TEST_CASE_METHOD(Fixture, "The renderer goes into a copy of the caller's metadata, over its entry",
                 "[backend][create]") {
  settings.user_metadata = {{"recipe", "sft"}, {"renderer_name", "old"}};
  settings.renderer_name = "new";
  (void)create();
  CHECK(has(created_with(), R"("user_metadata":{"recipe":"sft","renderer_name":"new"})"));
  CHECK(settings.user_metadata.at("renderer_name") == "old");
}

TEST_CASE_METHOD(Fixture, "Where a model comes from follows from the two paths",
                 "[backend][create]") {
  SECTION("a path to resume: weights and optimizer, and no metadata if there is none") {
    settings.resume_state_path = state;
    (void)create();
    CHECK(with_optimizer());
    CHECK(has(service.body_of("load_weights"), state));
    CHECK_FALSE(has(created_with(), R"("user_metadata":{)"));
  }
  SECTION("a path to begin with: weights alone") {
    settings.init_weights_path = state;
    settings.user_metadata = {{"a", "b"}};
    (void)create();
    CHECK_FALSE(with_optimizer());
    CHECK(has(created_with(), R"("user_metadata":{"a":"b"})"));
  }
  SECTION("both: the path to resume alone") {
    settings.resume_state_path = state;
    settings.init_weights_path = other_state;
    (void)create();
    CHECK(with_optimizer());
    for (const auto& request : service.requests())
      CHECK_FALSE(has(request.body, other_state));
  }
  SECTION("none: a fresh adapter") {
    (void)create();
    CHECK(service.requests({"load_weights", "weights_info"}).empty());
    CHECK(has(created_with(), R"("rank":32)"));
  }
}

TEST_CASE_METHOD(Fixture, "A key that is missing is named by its variable, and nothing is sent",
                 "[backend][create][errors]") {
  const auto empty = GENERATE(true, false);
  if (empty)
    ::setenv(variable, "", 1);
  else
    ::unsetenv(variable);
  const auto failed = error();
  CHECK(failed.code == Errc::unauthenticated);
  CHECK(has(failed.message, std::string{variable} + " is not set"));
  CHECK(service.requests().empty());
}

TEST_CASE_METHOD(Fixture, "The key of the variable is the one that is sent",
                 "[backend][create][secrets]") {
  settings.options.api_key = "tml-other";
  (void)create();
  for (const auto& request : service.requests()) {
    INFO(request.path);
    CHECK(request.key == "tml-from-variable");
  }
}

TEST_CASE_METHOD(Fixture, "A checkpoint of another base model is refused before a model is made",
                 "[backend][create][errors]") {
  auto& path = GENERATE(true, false) ? settings.resume_state_path : settings.init_weights_path;
  path = state;
  service.set("weights_info", R"({"base_model":"another","is_lora":true})");
  const auto failed = error();
  CHECK(failed.code == Errc::invalid_argument);
  CHECK(has(failed.message, "a checkpoint of another, but model_name is base"));
  CHECK(service.requests(creations).empty());
}

TEST_CASE_METHOD(Fixture, "Bad settings are named before anything is sent",
                 "[backend][create][errors]") {
  SECTION("no model") {
    settings.model_name = "";
    CHECK(has(error().message, "model_name is empty"));
  }
  SECTION("a rank that cannot be") {
    settings.lora_rank = 0;
    CHECK(has(error().message, "rank"));
  }
  SECTION("a path to sample from") {
    settings.resume_state_path = "tinker://r/sampler_weights/a";
    CHECK(has(error().message, "resume_state_path"));
  }
  SECTION("no path at all") {
    settings.init_weights_path = "a";
    CHECK(has(error().message, "`a`"));
  }
  SECTION("no time") {
    settings.time_limit = 0ms;
    CHECK(has(error().message, "time_limit is 0 ms"));
  }
  CHECK(service.requests().empty());
}

TEST_CASE_METHOD(Fixture, "A tokenizer that cannot be had releases the model",
                 "[backend][create][errors]") {
  const auto throws = GENERATE(true, false);
  settings.load_tokenizer
      = [throws](const std::string&, const ModelInfo&) -> Result<text::Tokenizer> {
    if (throws)
      throw std::runtime_error{"no vocabulary"};
    return fail(Errc::io_error, "no vocabulary");
  };
  CHECK(has(error().message, "no vocabulary"));
  CHECK(service.requests({"unload_model"}).size() == 1);
}

TEST_CASE_METHOD(Fixture, "The tokenizer is asked for by the model, and told without a request",
                 "[backend][create]") {
  std::string asked;
  settings.load_tokenizer = [&](const std::string& model, const ModelInfo& info) {
    asked = model + " " + info.tokenizer_id;
    return Result<text::Tokenizer>{tokenizer()};
  };
  const auto backend = create();
  CHECK(asked == "base t");
  CHECK(backend->get_tokenizer()->vocab_size() == tokenizer().vocab_size());
  settings.load_tokenizer = {};
  const auto without = create()->get_tokenizer();
  REQUIRE_FALSE(without.has_value());
  CHECK(without.error().code == Errc::not_found);
}

TEST_CASE_METHOD(Fixture, "A service that says nothing is waited for no longer than the limit",
                 "[backend][create][errors]") {
  test::ScriptedPeer silent{{{.kind = test::PeerReply::Kind::stall}}};
  settings.options.base_url = silent.url();
  settings.options.request_timeout = 1s;
  settings.time_limit = 300ms;
  const auto failed = error();
  CHECK(failed.code == Errc::timeout);
  CHECK(has(failed.message, "300 ms (time_limit)"));
  CHECK(silent.wait_for_hang_ups(1)); // nobody waits on
}

TEST_CASE_METHOD(Fixture, "The gradient and its step are submitted at the call, in that order",
                 "[backend]") {
  const auto backend = create();
  const auto gradient = backend->forward_backward(batch());
  const auto step = backend->optim_step({.learning_rate = 0.5});
  REQUIRE(service.wait_for("optim_step", 1)); // nobody has waited for either yet
  const auto sent = service.requests({"forward_backward", "optim_step"});
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].path == "forward_backward");
  CHECK(has(sent[0].body, R"("seq_id":1)"));
  CHECK(has(sent[1].body, R"("seq_id":2)"));
  CHECK(gradient.get(limit)->loss_fn_outputs.size() == 1);
  CHECK(step.get(limit).has_value());
}

TEST_CASE_METHOD(Fixture, "The settings of a loss are sent where there are any", "[backend]") {
  const auto backend = create();
  SECTION("some") {
    auto data = batch();
    auto one = (*data)[0];
    one.loss_fn_inputs.erase("weights");
    one.loss_fn_inputs.emplace("logprobs", TensorData::of(std::vector<float>{-1, -1}));
    one.loss_fn_inputs.emplace("advantages", TensorData::of(std::vector<float>{1, 1}));
    REQUIRE(backend->forward_backward(make_batch({one}), LossFn::ppo, {{"clip_low_threshold", 0.5}})
                .get(limit)
                .has_value());
    const auto body = service.body_of("forward_backward");
    CHECK(has(body, R"("loss_fn":"ppo")"));
    CHECK(has(body, R"("loss_fn_config":{"clip_low_threshold":0.5})"));
  }
  SECTION("none") {
    REQUIRE(backend->forward_backward(batch(), LossFn::cross_entropy, {}).get(limit).has_value());
    CHECK_FALSE(has(service.body_of("forward_backward"), "loss_fn_config"));
  }
}

TEST_CASE_METHOD(Fixture,
                 "A custom loss and the settings of the optimizer arrive as they were given",
                 "[backend]") {
  const auto backend = create();
  const auto data = batch();
  bool called = false;
  const auto output = backend->forward_backward_custom(
      data, [&](const CustomLossInput& input) -> Result<CustomLossValue> {
        called = input.data.data() == data->data();
        return CustomLossValue{.loss = 3.0,
                               .gradients = {TensorData::of(std::vector<float>{-1, 0.5F})}};
      });
  REQUIRE(output.get(limit).has_value());
  CHECK(called);
  CHECK(output.get()->metrics.at("custom_loss") == 3.0);
  CHECK(has(service.body_of("forward_backward"), "[1.0,-0.5]")); // minus the gradient
  REQUIRE(backend->optim_step({.learning_rate = 0.25, .beta1 = 0.5, .weight_decay = 0.125})
              .get(limit)
              .has_value());
  const auto step = service.body_of("optim_step");
  CHECK(has(step, R"("learning_rate":0.25)"));
  CHECK(has(step, R"("beta1":0.5)"));
  CHECK(has(step, R"("weight_decay":0.125)"));
}

TEST_CASE_METHOD(Fixture, "Saves are kept for ever and give their paths", "[backend][save]") {
  const auto backend = create();
  CHECK(backend->save_for_sampler("a") == "tinker://model-1/sampler_weights/a");
  CHECK(backend->save_full_state("a") == "tinker://model-1/weights/a");
  for (const auto* path : {"save_weights_for_sampler", "save_weights"}) {
    const auto body = service.body_of(path);
    CHECK(has(body, R"("path":"a")"));
    CHECK_FALSE(has(body, "ttl_seconds"));
    CHECK_FALSE(has(body, R"("overwrite":true)"));
  }
}

TEST_CASE_METHOD(Fixture, "A save without a path is an error that says so",
                 "[backend][save][errors]") {
  const auto* body = GENERATE(R"({"path":""})", R"({})");
  service.set("save_weights", body);
  service.set("save_weights_for_sampler", body);
  const auto backend = create();
  const auto state_saved = backend->save_full_state("a");
  const auto sampler_saved = backend->save_for_sampler("a");
  REQUIRE_FALSE(state_saved.has_value());
  REQUIRE_FALSE(sampler_saved.has_value());
  CHECK(has(state_saved.error().message, "path"));
  CHECK(has(sampler_saved.error().message, "path"));
  CHECK(state_saved.error().code == Errc::protocol_error);
}

TEST_CASE_METHOD(Fixture,
                 "A snapshot is opened by its path and the base model, and carries its label",
                 "[backend][snapshot]") {
  const auto backend = create();
  service.set("save_weights_for_sampler", R"({"path":"tinker://model-1/sampler_weights/eval_50"})");
  const auto sampler = backend->snapshot_sampling_client("eval_50");
  REQUIRE(sampler.has_value());
  CHECK((*sampler)->name() == "eval_50");
  CHECK((*sampler)->model_path() == "tinker://model-1/sampler_weights/eval_50");
  const auto body = service.body_of("create_sampling_session");
  CHECK(has(body, R"("base_model":"base")"));
  CHECK(has(body, R"("model_path":"tinker://model-1/sampler_weights/eval_50")"));
  CHECK(has(service.body_of("save_weights_for_sampler"), R"("path":"eval_50")"));
}

TEST_CASE_METHOD(Fixture, "Snapshots without a name count, those with one between them do not",
                 "[backend][snapshot]") {
  const auto backend = create();
  CHECK((*backend->snapshot_sampling_client())->name() == "snap_1");
  CHECK((*backend->snapshot_sampling_client("mine"))->name() == "mine");
  CHECK((*backend->snapshot_sampling_client())->name() == "snap_2");
  service.set("save_weights_for_sampler", "{}");
  CHECK_FALSE(backend->snapshot_sampling_client().has_value());
  service.set("save_weights_for_sampler", R"({"path":"tinker://model-1/sampler_weights/a"})");
  CHECK((*backend->snapshot_sampling_client())->name() == "snap_4"); // a failed one has its number
}

TEST_CASE_METHOD(Fixture, "A backend over clients that are there makes no request", "[backend]") {
  auto made = create();
  const auto before = service.requests().size();
  TinkerBackend backend{made->service(), made->training_client(), "base"};
  CHECK(service.requests().size() == before);
  CHECK((*backend.snapshot_sampling_client())->name() == "snap_1");
}

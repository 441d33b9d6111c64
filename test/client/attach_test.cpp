// SPDX-License-Identifier: Apache-2.0
#include "actors/session.hpp"
#include "test/client/local_service.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/scoped_actor.hpp>
#include <caf/send.hpp>

#include <map>
#include <memory>
#include <utility>
#include <vector>

using namespace tinkaf;

// Going on with a session and a model over a real socket against the local server.

namespace {

Batch batch() {
  return make_batch(
      {Datum{.model_input = ModelInput::from_ints({10, 40, 41, 42}),
             .loss_fn_inputs
             = {{"target_tokens", TensorData::of(std::vector<std::int64_t>{40, 41, 42, 43})},
                {"weights", TensorData::of(std::vector<float>{1, 1, 1, 1})}}}});
}

/// What a ledger has been told, by number.
using Notes = std::map<std::int64_t, NumberedRequest>;

LedgerActor::behavior_type ledger(LedgerActor::pointer, std::shared_ptr<Notes> notes) {
  return {
      [notes](const NumberedTurn& turn) -> Done {
        for (const auto& request : turn)
          (*notes)[request.seq_id] = request;
        return {};
      },
      [notes](atom::accepted, std::int64_t seq_id, const FutureRef& future) {
        notes->at(seq_id).accepted = future;
      },
  };
}

/// A log whose disk is full for one note, that of the first optimizer step.
class FullOnce : public OperationLog {
public:
  Result<void> note(const NumberedTurn& turn) override {
    const auto full
        = turn.front().type == RequestType::optim_step && !std::exchange(was_full_, true);
    return full ? fail(Errc::io_error, "the disk is full") : Result<void>{};
  }

  Result<void> accepted(std::int64_t, const FutureRef&) override {
    return {};
  }

private:
  bool was_full_ = false;
};

template <class T>
Errc code_of(const Result<T>& result) {
  return result ? Errc::none : result.error().code;
}

/// One life of a process: an actor system with a session and a ledger.
class Life {
public:
  Life(const ClientOptions& options, std::optional<SessionRecord> record) {
    auto spawned = spawn_session(system_, options, quiet(), std::move(record));
    REQUIRE(spawned.has_value());
    session = *spawned;
    ledger_actor = system_.spawn(ledger, notes);
  }

  /// Ends as a process does that is killed: nobody is told anything.
  ~Life() {
    caf::anon_send_exit(session, caf::exit_reason::kill);
    caf::anon_send_exit(ledger_actor, caf::exit_reason::kill);
  }

  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  template <class T, class Handle, class... Args>
  Result<T> ask(const Handle& whom, Args... args) {
    Result<T> result = fail(Errc::internal, "no answer");
    self_->request(whom, std::chrono::minutes{1}, std::move(args)...)
        .receive([&](T& value) { result = std::move(value); },
                 [&](const caf::error& error) { result = fail(from_caf(error)); });
    return result;
  }

  /// Asks and does not wait: the answer goes nowhere.
  template <class Handle, class... Args>
  void begin(const Handle& whom, Args... args) {
    self_->send(whom, std::move(args)...);
  }

  /// What the ledger has been told until now.
  Notes noted() {
    REQUIRE(ask<Done>(ledger_actor, NumberedTurn{}).has_value()); // behind all that was sent before
    return *notes;
  }

private:
  static NoticeSink quiet() {
    return [](const Notice&) {};
  }

  caf::actor_system_config config_;
  caf::actor_system system_{config_};
  caf::scoped_actor self_{system_};

public:
  SessionActor session;
  LedgerActor ledger_actor;
  std::shared_ptr<Notes> notes = std::make_shared<Notes>();
};

std::vector<NumberedTurn> open_turns(const Notes& notes, std::int64_t first) {
  std::vector<NumberedTurn> open;
  for (const auto& [seq_id, request] : notes)
    if (seq_id >= first)
      open.push_back({request});
  return open;
}

constexpr auto pass = atom::forward_backward_v;

} // namespace

TEST_CASE_METHOD(test::LocalService,
                 "A model that another life of the process has trained goes on as if nothing had "
                 "happened",
                 "[client][attach][end-to-end]") {
  const auto adam = AdamParams{.learning_rate = 1e-2};
  const auto create = CreateLoraTrainingClient{"tiny", {.rank = 4, .seed = 1}, {}};
  const auto input = ForwardBackwardInput{batch()};
  std::vector<double> expected;
  auto loss_of = [](const Result<ForwardBackwardOutput>& output) {
    REQUIRE(output.has_value());
    return output->metrics.at("loss:sum");
  };

  // Four steps at a stretch.
  {
    Life life{options(), {}};
    REQUIRE(life.ask<std::string>(life.session, atom::open_v).has_value());
    auto client = life.ask<TrainingClientActor>(life.session, create);
    REQUIRE(client.has_value());
    for (int i = 0; i < 4; ++i) {
      expected.push_back(loss_of(life.ask<ForwardBackwardOutput>(*client, pass, input)));
      REQUIRE(life.ask<OptimStepResponse>(*client, adam).has_value());
    }
  }

  // Two steps and a half, of which the last results are not waited for.
  std::optional<SessionRecord> record;
  std::string model_id;
  Notes notes;
  {
    Life life{options(), {}};
    REQUIRE(life.ask<std::string>(life.session, atom::open_v).has_value());
    auto client = life.ask<TrainingClientActor>(life.session, create, life.ledger_actor);
    REQUIRE(client.has_value());
    model_id = life.ask<std::string>(*client, atom::open_v).value();
    for (int i = 0; i < 2; ++i) {
      CHECK(loss_of(life.ask<ForwardBackwardOutput>(*client, pass, input))
            == expected[static_cast<std::size_t>(i)]);
      REQUIRE(life.ask<OptimStepResponse>(*client, adam).has_value());
    }
    life.begin(*client, pass, input);
    CHECK(life.ask<OptimStepResponse>(*client, adam).has_value());
    record = life.ask<SessionRecord>(life.session, atom::record_v).value();
    notes = life.noted();
  }
  REQUIRE(notes.size() == 6);
  CHECK(notes.at(5).accepted.has_value());
  notes.at(6).accepted.reset(); // as if the process had ended before it learnt the name

  Life life{options(), record};
  *life.notes = notes;
  CHECK(life.ask<std::string>(life.session, atom::open_v).value() == record->session_id);
  auto client = life.ask<TrainingClientActor>(
      life.session, AttachTrainingClient{model_id, 7, open_turns(notes, 5)}, life.ledger_actor);
  REQUIRE(client.has_value());
  CHECK(life.ask<std::string>(*client, atom::open_v).value() == model_id);
  CHECK(loss_of(life.ask<ForwardBackwardOutput>(*client, pass, input)) == expected[2]);
  REQUIRE(life.ask<OptimStepResponse>(*client, adam).has_value());
  CHECK(life.noted().size() == 6);
  CHECK(loss_of(life.ask<ForwardBackwardOutput>(*client, pass, input)) == expected[3]);
  REQUIRE(life.ask<OptimStepResponse>(*client, adam).has_value());
  CHECK(life.noted().size() == 8);
}

TEST_CASE_METHOD(test::LocalService, "No operation takes the place of one that could not be noted",
                 "[client][attach][end-to-end]") {
  const auto service = connect();
  const auto client = service.create_lora_training_client("tiny", {.rank = 4, .seed = 1}, {},
                                                          std::make_shared<FullOnce>());
  REQUIRE(client.has_value());
  auto first = client->forward_backward(batch());
  auto step = client->optim_step({});
  auto save = client->save_state("without-the-step");
  auto second = client->optim_step({});
  CHECK(first.get().has_value());
  CHECK(code_of(step.get()) == Errc::io_error);
  CHECK(code_of(save.get()) == Errc::io_error);
  CHECK(code_of(second.get()) == Errc::io_error);
}

TEST_CASE_METHOD(test::LocalService, "A session that the service never had cannot be gone on with",
                 "[client][attach][end-to-end]") {
  Life life{options(), SessionRecord{"no-such-session", 1, 1}};
  auto id = life.ask<std::string>(life.session, atom::open_v);
  REQUIRE_FALSE(id.has_value());
  CHECK(id.error().code == Errc::not_found);
  CHECK(id.error().http_status == 404);
}

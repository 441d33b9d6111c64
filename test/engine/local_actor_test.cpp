// SPDX-License-Identifier: Apache-2.0
#include "client/handles.hpp"
#include "test/client/local_service.hpp"
#include "test/engine/engine_data.hpp"

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>

#include <future>
#include <string>

#include "engine/execution_actor.hpp"

using namespace tinkaf;
using namespace std::chrono_literals;

namespace {

/// Reads a run to its end and tells what it was handed.
void read(caf::event_based_actor* self, const ExecutionActor& run, std::string so_far,
          std::shared_ptr<std::promise<std::string>> told) {
  self->request(run, caf::infinite, atom::next_v)
      .then(
          [=](const ExecutionNext& next) {
            if (!next.step)
              return told->set_value(so_far);
            constexpr auto letters = "TSN";
            const auto letter = *next.step ? letters[(*next.step)->index()] : '!';
            read(self, run, so_far + letter, told);
          },
          [=](const caf::error&) { told->set_value(so_far + "?"); });
}

} // namespace

TEST_CASE_METHOD(test::LocalService, "An actor runs a schedule against the local server",
                 "[engine][actor][end-to-end]") {
  const auto service = connect();
  const auto client = train(service);
  const Op step = TrainOp{.datums = test::batch_of({5, 3}), .loss = CrossEntropy{}, .lr = 1e-2};
  const Op custom = TrainOp{.datums = test::batch_of({5}), .loss = test::raise_all(), .lr = 1e-2};
  const Op score = ScoreOp{test::batch_of({4})};
  const Op saved = SnapshotOp{.name = "a", .ttl = {}, .eval = test::batch_of({4})};
  const auto told = std::make_shared<std::promise<std::string>>();
  std::thread{[&] {
    const auto run = spawn_execution(actor_system(service), handle(client),
                                     {step, step, saved, custom, step, score});
    actor_system(service).spawn(
        [run, told](caf::event_based_actor* self) { read(self, run, "", told); });
  }}.join();
  auto letters = told->get_future();
  REQUIRE(letters.wait_for(60s) == std::future_status::ready);
  CHECK(letters.get() == "TTNTTS");
}

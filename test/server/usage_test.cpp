// SPDX-License-Identifier: Apache-2.0
#include "test/server/clock_fixture.hpp"

using namespace std::chrono_literals;
using namespace tinkaf;
using namespace tinkaf::test;

namespace {

// The clock of the fixture starts at 2030-03-17T17:46:40Z.
constexpr const char* first_hour
    = "billing/usage/"
      "events?starting_on=2030-03-17T17%3A00%3A00Z&ending_before=2030-03-17T18:00:00Z";
constexpr const char* second_hour
    = "billing/usage/events?starting_on=2030-03-17T18:00:00Z&ending_before=2030-03-17T19:00:00Z";

struct Fixture : ClockFixture {
  /// "kind count" of each event.
  std::vector<std::string> used(const std::string& call) {
    std::vector<std::string> out;
    for (const auto& event : read<BillingUsageResponse>(call).data)
      out.push_back(std::visit(
          [](const auto& x) -> std::string {
            using T = std::decay_t<decltype(x)>;
            if constexpr (std::is_same_v<T, TrainingUsage>)
              return "training " + std::to_string(x.token_count);
            else if constexpr (std::is_same_v<T, SamplingPrefillUsage>)
              return "prompt " + std::to_string(x.token_count);
            else if constexpr (std::is_same_v<T, SamplingSampleUsage>)
              return "sampled " + std::to_string(x.token_count);
            else if constexpr (std::is_same_v<T, CheckpointUsage>)
              return "checkpoints " + std::to_string(x.count);
            else
              return "other";
          },
          event.event_info));
    return out;
  }

  std::vector<std::string> events(const std::string& query) {
    std::vector<std::string> out;
    for (const auto& entry : read<AuditLogResponse>("audit" + query).entries)
      out.push_back(entry.event + ' ' + entry.tinker_path.value());
    return out;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "Tokens and checkpoints are counted by the hour, resends once",
                 "[server][usage]") {
  const auto body = pass(model, 1, 5);
  const auto trained = api.submit("forward_backward", body);
  CHECK(api.submit("forward_backward", body) == trained);
  (void)api.result<ForwardBackwardOutput>(RequestType::forward_backward, trained);
  const auto forward = api.submit("forward", pass(model, 2, 5, true));
  (void)api.result<ForwardBackwardOutput>(RequestType::forward, forward);
  // What fails costs nothing.
  (void)api.failure(RequestType::forward_backward,
                    api.submit("forward_backward", pass(model, 3, 13)));
  (void)save("a");
  CreateSamplingSessionRequest base{.session_id = session, .base_model = "scripted"};
  CHECK(api.post("create_sampling_session", wire::to_json(base)).status == 200);
  (void)api.result<SampleResponse>(RequestType::sample,
                                   api.submit("asample", sample(session + ":sample:0", 0)));
  wait(20min);
  (void)save("b");
  AsampleRequest alone{.sample = {.prompt = ModelInput::from_ints({1, 2})},
                       .base_model = "scripted"};
  (void)api.result<SampleResponse>(RequestType::sample,
                                   api.submit("asample", wire::to_json(alone).value()));
  CHECK(used(first_hour)
        == std::vector<std::string>{"training 4", "prompt 1", "sampled 1", "checkpoints 1"});
  CHECK(used(second_hour) == std::vector<std::string>{"prompt 2", "sampled 1", "checkpoints 1"});
  const auto usage = read<BillingUsageResponse>(second_hour);
  CHECK_FALSE(usage.data.at(0).session_id.has_value());
  CHECK(usage.sessions.size() == 1);
}

TEST_CASE_METHOD(Fixture, "What was used is told with its session and project", "[server][usage]") {
  const CreateSessionRequest request{.user_metadata = {{"team", "red"}}, .project_id = "p"};
  session = wire::from_json<CreateSessionResponse>(
                check(api.post("create_session", wire::to_json(request)), 200))
                .value()
                .session_id;
  model = api.model(session);
  (void)save("a");
  const auto usage = read<BillingUsageResponse>(first_hour);
  REQUIRE(usage.data.size() == 1);
  CHECK(usage.data[0].bucket_start == Timestamp{1'900'000'000s - 46min - 40s});
  CHECK(usage.data[0].bucket_end == usage.data[0].bucket_start + 1h);
  CHECK(usage.data[0].base_model == "scripted");
  CHECK(usage.data[0].session_id == session);
  CHECK(usage.data[0].project_id == "p");
  CHECK(usage.sessions.at(session).user_metadata == UserMetadata{{"team", "red"}});
  wait(24h * 20);
  (void)save("b");
  CHECK(used(first_hour).empty()); // too long ago
}

TEST_CASE_METHOD(Fixture, "Wrong times of a bill are refused", "[server][usage][errors]") {
  const auto ask = [&](const std::string& query) {
    return refusal(api.get("billing/usage/events" + query), 400);
  };
  CHECK(ask("") == "starting_on: is missing");
  CHECK(ask("?starting_on=2030-03-17T17:00:00Z") == "ending_before: is missing");
  CHECK(ask("?starting_on=soon") == "starting_on: must be a time of RFC 3339, but is `soon`");
  CHECK(ask("?starting_on=2030-03-17T17:00:01Z")
        == "starting_on: must be a full hour, but is 2030-03-17T17:00:01Z");
  const std::string order = "ending_before: must be at most 14 days behind starting_on";
  const std::string from = "?starting_on=2030-03-17T17:00:00Z&ending_before=";
  CHECK(ask(from + "2030-03-17T17:00:00Z") == order);
  CHECK(ask(from + "2030-03-31T18:00:00Z") == order);
  CHECK(read<BillingUsageResponse>("billing/usage/events" + from + "2030-03-31T17:00:00Z")
            .data.empty());
}

TEST_CASE_METHOD(Fixture, "What was done to checkpoints is told by the day", "[server][usage]") {
  const auto path = save("a");
  wait(24h);
  CHECK(api.put(at("weights/a/ttl"), R"({"ttl_seconds":null})").status == 200);
  CHECK(api.post(at("weights/a/publish"), "").status == 200);
  CHECK(api.post(at("weights/a/publish"), "").status == 409);
  CHECK(api.remove(at("weights/a/publish")).status == 200);
  CHECK(api.remove(at("weights/a")).status == 204);
  CHECK(events("")
        == std::vector{"checkpoint_expiry_changed " + path, "checkpoint_published " + path,
                       "checkpoint_unpublished " + path, "checkpoint_deleted " + path});
  CHECK(events("?event_type=checkpoints&day=2030-03-17")
        == std::vector{"checkpoint_saved " + path});
  CHECK(events("?day=2030-03-16").empty());
  CHECK(read<AuditLogResponse>("audit?day=2030-03-17").entries.at(0).model_id == model);
  CHECK(refusal(api.get("audit?event_type=logins"), 400)
        == "event_type: must be all or checkpoints, but is `logins`");
  for (const std::string bad : {"today", "2030-3-1", "2030-02-30", "2030-03-17T00:00:00Z"})
    CHECK(refusal(api.get("audit?day=" + bad), 400)
          == "day: must be a date like 2026-03-04, but is `" + bad + "`");
}

// SPDX-License-Identifier: Apache-2.0
#include "actors/sample_stream.hpp"

#include "test/actors/scripted_service.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace tinkaf;

namespace {

SampleRequest request_for(std::uint64_t i) {
  return {.prompt = ModelInput::from_ints({static_cast<Token>(i)})};
}

/// Stands in for a sampling client: owes each sample until the test says how it ends.
struct Owing {
  std::map<Token, Owed<SampleResponse>> open;
  std::map<Token, Result<SampleResponse>> ends;
  std::size_t most = 0;
};

SamplingClientActor::behavior_type owing_client(SamplingClientActor::pointer self,
                                                std::shared_ptr<Owing> owing) {
  return {
      [](atom::open) { return std::string{}; },
      [self, owing](SampleRequest& request) {
        auto answer = owe<SampleResponse>(self);
        owing->open.emplace(to_ints(request.prompt).value().at(0), answer);
        owing->most = std::max(owing->most, owing->open.size());
        return answer.promise();
      },
      [](atom::compute_logprobs, ModelInput&) { return PromptLogprobs{}; },
      [](atom::get_base_model) { return std::string{}; },
      [](atom::cancel, std::uint64_t) {},
      [](atom::status, std::uint64_t) { return CallStatus{}; },
      [owing](atom::restart, std::uint64_t token) {
        auto i = static_cast<Token>(token);
        owing->open.at(i).settle(owing->ends.at(i));
        owing->open.erase(i);
      },
      [](atom::look) {},
  };
}

struct Fixture : test::ActorFixture {
  void open(SampleSource source, std::size_t room) {
    client = spawn(owing_client, owing);
    stream = spawn(sample_stream, client,
                   StoppableSampleSource{[source](const std::stop_token&) { return source(); }},
                   nullptr, room);
  }

  test::Answer<SampleStreamNext> next() {
    auto answer = ask<SampleStreamNext>(stream, atom::next_v);
    run();
    return answer;
  }

  void end(Token request, Result<SampleResponse> result = SampleResponse{}) {
    REQUIRE(owing->open.contains(request));
    owing->ends.insert_or_assign(request, std::move(result));
    caf::anon_send(client, atom::restart_v, static_cast<std::uint64_t>(request));
    run();
  }

  static std::int64_t index(const test::Answer<SampleStreamNext>& answer) {
    REQUIRE(answer->has_value());
    const auto& item = (*answer)->value().item;
    return item ? static_cast<std::int64_t>(item->index) : -1;
  }

  /// A source of `count` requests, which counts those drawn.
  SampleSource source(std::uint64_t count) {
    return [this, count]() -> std::optional<SampleRequest> {
      if (drawn == count)
        return std::nullopt;
      return request_for(drawn++);
    };
  }

  std::uint64_t drawn = 0;
  std::shared_ptr<Owing> owing = std::make_shared<Owing>();
  SamplingClientActor client;
  SampleStreamActor stream;
};

} // namespace

TEST_CASE_METHOD(Fixture, "Samples come in the order in which they end, then nothing",
                 "[actors][stream]") {
  open(source(3), 8);
  CHECK(drawn == 0); // nobody has asked yet
  auto first = next();
  CHECK(drawn == 3);
  CHECK_FALSE(first->has_value());
  end(2);
  CHECK(index(first) == 2);
  end(0);
  CHECK(index(next()) == 0);
  auto last = next();
  auto behind = next();
  end(1);
  CHECK(index(last) == 1);
  CHECK(index(behind) == -1);
  CHECK(index(next()) == -1);
}

TEST_CASE_METHOD(Fixture, "A failed sample stops no other", "[actors][stream]") {
  open(source(2), 8);
  auto first = next();
  end(0, fail(Errc::request_failed, "no"));
  CHECK((*first)->value().item->result.error().message == "no");
  auto second = next();
  end(1);
  CHECK((*second)->value().item->result.has_value());
}

TEST_CASE_METHOD(Fixture, "A source without end is drawn only while there is room",
                 "[actors][stream]") {
  open([this]() -> std::optional<SampleRequest> { return request_for(drawn++); }, 4);
  next();
  CHECK(drawn == 4);
  for (Token i = 0; i < 4; ++i)
    end(i);
  CHECK(drawn == 5); // three wait to be read, the reader of one has left room
  CHECK(owing->open.size() == 1);
  next();
  CHECK(drawn == 6);
}

TEST_CASE_METHOD(Fixture, "Ten thousand samples pass with sixteen under way", "[actors][stream]") {
  constexpr std::uint64_t count = 10'000;
  open(source(count), 16);
  std::vector<bool> seen(count);
  std::uint64_t total = 0;
  for (;;) {
    auto answer = next();
    if (!answer->has_value())
      end(owing->open.rbegin()->first);
    auto i = index(answer);
    if (i < 0)
      break;
    CHECK_FALSE(seen.at(static_cast<std::size_t>(i)));
    seen.at(static_cast<std::size_t>(i)) = true;
    ++total;
  }
  CHECK(total == count);
  CHECK(owing->most == 16);
}

TEST_CASE_METHOD(Fixture, "A source that throws ends the stream with its words",
                 "[actors][stream]") {
  open(
      [this]() -> std::optional<SampleRequest> {
        if (drawn == 1)
          throw std::runtime_error{"file is gone"};
        return request_for(drawn++);
      },
      8);
  auto first = next();
  REQUIRE(first->has_value());
  const auto& item = (*first)->value().item;
  CHECK(item->index == 1);
  CHECK(item->result.error().message.find("file is gone") != std::string::npos);
  auto second = next();
  end(0);
  CHECK(index(second) == 0);
  CHECK(index(next()) == -1);
}

TEST_CASE_METHOD(test::ServiceFixture, "A stream that ends gives up what it has under way",
                 "[actors][stream][cancel]") {
  open_session();
  auto client = ask<SamplingClientActor>(session_actor, CreateSamplingClient{.base_model = "m"});
  run();
  std::uint64_t drawn = 0;
  auto stream = spawn(
      sample_stream, (*client)->value(),
      StoppableSampleSource{[&drawn](const std::stop_token&) { return request_for(drawn++); }},
      nullptr, std::size_t{3});
  auto next = ask<SampleStreamNext>(stream, atom::next_v);
  run();
  CHECK(drawn == 3);
  accept(Endpoint::asample, "one");
  kill(caf::actor_cast<caf::actor>(stream));
  auto polls = sent_to(Endpoint::retrieve_future).size();
  REQUIRE(next->has_value());
  CHECK((*next)->error().code == Errc::cancelled);
  accept(Endpoint::asample, "two");
  pass(1min);
  CHECK(sent_to(Endpoint::retrieve_future).size() == polls);
  CHECK(sent_to(Endpoint::asample).size() == 3);
  CHECK(drawn == 3);
}

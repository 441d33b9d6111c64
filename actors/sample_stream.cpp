// SPDX-License-Identifier: Apache-2.0
#include "actors/sample_stream.hpp"

#include "actors/exceptions.hpp"

#include <caf/actor_addr.hpp>
#include <caf/actor_cast.hpp>
#include <caf/send.hpp>

#include <algorithm>
#include <utility>

namespace tinkaf {

caf::typed_response_promise<SampleStreamNext> SampleStreamState::next() {
  auto answer = owe<SampleStreamNext>(self);
  readers.push_back(answer);
  serve();
  return answer.promise();
}

void SampleStreamState::fill() {
  auto taken = under_way + ended.size() + drawing;
  if (exhausted || taken >= room)
    return;
  drawing += room - taken;
  source->draw(room - taken);
}

void SampleStreamState::on_drawn(Drawn drawn) {
  --drawing;
  if (drawn && *drawn)
    return start(std::move(**drawn));
  exhausted = true;
  if (!drawn)
    ended.push_back({next_index, fail(std::move(drawn.error()))});
  serve();
}

void SampleStreamState::start(SampleRequest request) {
  auto index = next_index++;
  ++under_way;
  self->request(client, caf::infinite, std::move(request))
      .then(
          [this, index](SampleResponse& value) {
            on_end({index, std::move(value)});
          },
          [this, index](const caf::error& error) {
            on_end({index, fail(from_caf(error))});
          });
}

void SampleStreamState::on_end(SampleStreamItem item) {
  --under_way;
  ended.push_back(std::move(item));
  serve();
}

void SampleStreamState::serve() {
  fill();
  while (!readers.empty() && !ended.empty()) {
    auto reader = std::move(readers.front());
    readers.pop_front();
    auto item = std::move(ended.front());
    ended.pop_front();
    fill(); // the reader's sample has left room
    reader.deliver({std::move(item)});
  }
  if (!exhausted || under_way > 0 || !ended.empty())
    return;
  for (auto& reader : std::exchange(readers, {}))
    reader.deliver({});
}

SampleStreamActor::behavior_type sample_stream(SampleStreamState::SelfPointer self,
                                               SamplingClientActor client,
                                               StoppableSampleSource source,
                                               std::shared_ptr<LossThreads> threads,
                                               std::size_t room) {
  end_on_exception(self);
  self->state.client = std::move(client);
  auto deliver = [address = caf::actor_cast<caf::actor_addr>(self)](Drawn drawn) {
    if (auto stream = caf::actor_cast<SampleStreamActor>(address))
      caf::anon_send(stream, std::make_shared<Drawn>(std::move(drawn)));
  };
  self->state.source.emplace(std::move(source), std::move(threads), std::move(deliver));
  self->state.room = std::max<std::size_t>(room, 1);
  return {[self](atom::next) { return self->state.next(); },
          [self](DrawnRequest& drawn) { self->state.on_drawn(std::move(*drawn)); }};
}

} // namespace tinkaf

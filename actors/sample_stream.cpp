// SPDX-License-Identifier: Apache-2.0
#include "actors/sample_stream.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <utility>

namespace tinkaf {

namespace {

/// The next request, nothing at the end, or what the source threw.
Result<std::optional<SampleRequest>> draw(const SampleSource& source) {
  try {
    return source();
  } catch (const std::exception& error) {
    return fail(Errc::internal, "the source of requests threw: " + std::string{error.what()});
  } catch (...) {
    return fail(Errc::internal, "the source of requests threw");
  }
}

} // namespace

caf::typed_response_promise<SampleStreamNext> SampleStreamState::next() {
  auto answer = owe<SampleStreamNext>(self);
  readers.push_back(answer);
  serve();
  return answer.promise();
}

void SampleStreamState::fill() {
  while (!exhausted && under_way + ended.size() < room) {
    auto drawn = draw(source);
    if (drawn && *drawn) {
      start(std::move(**drawn));
      continue;
    }
    exhausted = true;
    if (!drawn)
      ended.push_back({next_index, fail(std::move(drawn.error()))});
  }
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
                                               SamplingClientActor client, SampleSource source,
                                               std::size_t room) {
  self->state.client = std::move(client);
  self->state.source = std::move(source);
  self->state.room = std::max<std::size_t>(room, 1);
  return {[self](atom::next) { return self->state.next(); }};
}

} // namespace tinkaf

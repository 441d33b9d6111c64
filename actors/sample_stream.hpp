// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "actors/owed.hpp"
#include "actors/source_reader.hpp"
#include "messages/interfaces.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>

namespace tinkaf {

/// Samples under way and those that wait to be fetched: together never more than `room`, so that
/// neither an endless source nor a slow reader fills the memory.
struct SampleStreamState {
  using SelfPointer = SampleStreamActor::stateful_pointer<SampleStreamState>;

  explicit SampleStreamState(SelfPointer ptr) : self(ptr) {}

  caf::typed_response_promise<SampleStreamNext> next();

  /// Draws requests from the source while there is room.
  void fill();
  void on_drawn(Drawn drawn);
  void start(SampleRequest request);
  void on_end(SampleStreamItem item);

  /// Answers those who wait, as far as it can be done.
  void serve();

  SelfPointer self;
  SamplingClientActor client;
  std::optional<SourceReader> source;
  std::size_t room = 1;
  std::size_t under_way = 0;

  /// Requests that the source has still to give.
  std::size_t drawing = 0;
  std::uint64_t next_index = 0;
  bool exhausted = false;
  std::deque<SampleStreamItem> ended;
  std::deque<Owed<SampleStreamNext>> readers;

  static inline const char* name = "tinkaf.sample-stream";
};

/// Draws samples for all requests of a source and hands them out in the order in which they end; a
/// failed one stops no other. Begins when it is first asked for one. An exit message ends it and
/// all that it has under way.
///
/// A source that throws ends the stream with `Errc::internal` as its last item.
/// @param threads where the source runs; in the actor itself if null
/// @param room samples that may be under way or unread at a time; at least 1
SampleStreamActor::behavior_type
sample_stream(SampleStreamState::SelfPointer self, SamplingClientActor client,
              StoppableSampleSource source, std::shared_ptr<LossThreads> threads, std::size_t room);

} // namespace tinkaf

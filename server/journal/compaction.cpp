// SPDX-License-Identifier: Apache-2.0
#include "server/journal/compaction.hpp"

#include "server/journal/records.hpp"
#include "server/submission.hpp"

#include <set>
#include <utility>

namespace tinkaf::server {

namespace {

using State = FutureStore::State;

class Compaction {
public:
  Compaction(bool stored, const FutureStore& futures, Timestamp now)
      : stored_(stored), futures_(futures), now_(now) {}

  void note(const Record& record) {
    if (RecordKind{record.kind} == RecordKind::done)
      if (const auto outcome = from_text<OutcomeNote>(record.note))
        done_.insert(outcome->request_id);
  }

  void filter(const Record& record, const RecordLog::Visit& write) {
    switch (RecordKind{record.kind}) {
    case RecordKind::accepted:
    case RecordKind::known:
      return request(record, write);
    case RecordKind::done:
      return outcome(record, write);
    case RecordKind::delivered:
      return time(record, State::kept, write);
    case RecordKind::expired:
      return time(record, State::expired, write);
    case RecordKind::snapshot:
      if (!stored_)
        write(record);
      return;
    case RecordKind::seen:
      return; // another is to come
    default:
      write(record);
    }
  }

private:
  void request(const Record& record, const RecordLog::Visit& write) {
    const auto note = from_text<RequestNote>(record.note);
    if (!note)
      return write(record);
    const bool covered
        = done_.contains(note->request_id) && (stored_ || !changes_model(note->type));
    if (RecordKind{record.kind} == RecordKind::accepted && !covered) {
      needed_.insert(note->request_id);
      return write(record);
    }
    if (note->number || futures_.state(note->request_id) != State::unknown)
      write({static_cast<std::uint8_t>(RecordKind::known), record.note, {}});
  }

  void outcome(const Record& record, const RecordLog::Visit& write) {
    const auto note = from_text<OutcomeNote>(record.note);
    if (!note)
      return write(record);
    const auto state = futures_.state(note->request_id);
    if (state == State::kept || state == State::pending)
      return write(record);
    const bool makes_model
        = note->type == RequestType::create_model || note->type == RequestType::load_weights;
    if (state == State::expired || makes_model || needed_.contains(note->request_id))
      write({record.kind, record.note, {}});
    if (state == State::expired && !record.bytes.empty()) {
      const auto text = to_text(TimeNote{note->request_id, now_});
      write({static_cast<std::uint8_t>(RecordKind::expired), text, {}});
    }
  }

  void time(const Record& record, State wanted, const RecordLog::Visit& write) {
    const auto note = from_text<TimeNote>(record.note);
    if (!note || futures_.state(note->request_id) == wanted)
      write(record);
  }

  const bool stored_;
  const FutureStore& futures_;
  const Timestamp now_;
  std::set<std::string> done_;
  std::set<std::string> needed_; // requests whose bodies stay
};

} // namespace

Result<void> compact(RecordLog& log, const std::optional<std::string>& stored,
                     const FutureStore& futures, Timestamp now) {
  Compaction compaction{stored.has_value(), futures, now};
  if (auto read = log.read([&](const Record& record) { compaction.note(record); }); !read)
    return fail(std::move(read.error()));
  const auto text = to_text(TextNote{stored.value_or("")});
  const Record first{static_cast<std::uint8_t>(RecordKind::snapshot), text, {}};
  return log.rewrite(stored ? &first : nullptr,
                     [&](const Record& record, const RecordLog::Visit& write) {
                       compaction.filter(record, write);
                     });
}

} // namespace tinkaf::server

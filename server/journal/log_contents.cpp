// SPDX-License-Identifier: Apache-2.0
#include "server/journal/log_contents.hpp"

namespace tinkaf::server {

namespace {

/// Puts one record where it belongs. @returns why it cannot be read
Result<void> take(LogContents& out, const Record& record) {
  const RecordKind kind{record.kind};
  const auto text = [&](std::optional<std::string>& to) {
    return from_text<TextNote>(record.note).map([&](TextNote&& note) {
      to = std::move(note.text);
    });
  };
  const auto time = [&](auto&& use) { return from_text<TimeNote>(record.note).map(use); };
  switch (kind) {
  case RecordKind::moved:
    return text(out.project_id);
  case RecordKind::ended:
    return text(out.ended);
  case RecordKind::snapshot:
    return text(out.stored);
  case RecordKind::lost:
    return text(out.lost);
  case RecordKind::seen:
    return time([&](const TimeNote& note) { out.seen = note.time; });
  case RecordKind::delivered:
    return time([&](const TimeNote& note) { out.outcomes[note.request_id].delivered = note.time; });
  case RecordKind::expired:
    return time([&](const TimeNote& note) { out.outcomes[note.request_id].expired = note.time; });
  case RecordKind::done:
    return from_text<OutcomeNote>(record.note).map([&](OutcomeNote&& note) {
      auto& outcome = out.outcomes[note.request_id];
      outcome.note = std::move(note);
      outcome.bytes = record.bytes;
    });
  default:
    out.records.push_back({kind, std::string{record.note}, std::string{record.bytes}});
    return {};
  }
}

} // namespace

LogContents LogContents::read(RecordLog& log) {
  LogContents out;
  Result<void> good;
  auto condition = log.read([&](const Record& record) {
    if (auto taken = take(out, record); !taken && good)
      good = std::move(taken);
  });
  if (condition) {
    out.damage = condition->damage;
    if (auto trimmed = log.trim(*condition); !trimmed && good)
      good = std::move(trimmed);
  } else {
    out.damage = condition.error().message;
  }
  if (!out.damage && !good)
    out.damage = good.error().message;
  return out;
}

} // namespace tinkaf::server

// SPDX-License-Identifier: Apache-2.0
#include "journal/job_journal.hpp"

#include <fmt/format.h>

#include <array>
#include <mutex>
#include <utility>

#include "journal/database.hpp"

namespace tinkaf {

using journal::Database;
using journal::Statement;
using journal::Transaction;

namespace {

/// "tnkf": tells a journal from other files of SQLite.
constexpr std::int64_t application_id = 0x746E6B66;

constexpr std::int64_t schema_version = 2;

constexpr auto schema = R"(
PRAGMA application_id = 1953393510;
PRAGMA user_version = 2;
CREATE TABLE job(
  position INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  digest INTEGER) STRICT;
CREATE TABLE attempt(
  id INTEGER PRIMARY KEY,
  session_id TEXT NOT NULL,
  next_model_seq_id INTEGER NOT NULL,
  next_sampling_session_seq_id INTEGER NOT NULL,
  model_id TEXT NOT NULL,
  first_step INTEGER NOT NULL,
  restored_from TEXT NOT NULL,
  next_seq_id INTEGER NOT NULL DEFAULT 1,
  finished INTEGER NOT NULL DEFAULT 0,
  digest INTEGER) STRICT;
-- Requests whose results are still wanted; a turn is named after its first number.
CREATE TABLE request(
  seq_id INTEGER PRIMARY KEY,
  turn INTEGER NOT NULL,
  type TEXT NOT NULL,
  sampling_session_seq_id INTEGER,
  request_id TEXT,
  model_id TEXT,
  digest INTEGER) STRICT;
CREATE TABLE step(
  step INTEGER PRIMARY KEY,
  epoch INTEGER NOT NULL,
  batch INTEGER NOT NULL,
  line TEXT NOT NULL,
  digest INTEGER) STRICT;
CREATE TABLE checkpoint(
  id INTEGER PRIMARY KEY,
  next_step INTEGER NOT NULL,
  state_path TEXT NOT NULL UNIQUE,
  line TEXT NOT NULL,
  digest INTEGER) STRICT;
)";

/// A table, and what of a row its digest is of.
struct Digested {
  const char* table;
  const char* columns;
};

constexpr std::array all_digested{
    Digested{"job", "position, name, value"},
    Digested{"attempt", "id, session_id, next_model_seq_id, next_sampling_session_seq_id, model_id,"
                        " first_step, restored_from, next_seq_id, finished"},
    Digested{"request", "seq_id, turn, type, sampling_session_seq_id, request_id, model_id"},
    Digested{"step", "step, epoch, batch, line"},
    Digested{"checkpoint", "id, next_step, state_path, line"}};

/// Keeps the digests of all rows: SQLite itself has none.
std::string digest_triggers() {
  auto sql = std::string{};
  for (const auto& [table, columns] : all_digested)
    for (const auto& event : {std::string{"INSERT"}, fmt::format("UPDATE OF {}", columns)})
      sql += fmt::format("CREATE TRIGGER {0}_{1:.6} AFTER {1} ON {0} BEGIN UPDATE {0}"
                         " SET digest = digest_of({2}) WHERE rowid = NEW.rowid; END;\n",
                         table, event, columns);
  return sql;
}

Result<RequestType> parse_type(const std::string& name) {
  for (auto type : {RequestType::create_model, RequestType::forward, RequestType::forward_backward,
                    RequestType::optim_step, RequestType::save_weights, RequestType::load_weights,
                    RequestType::save_weights_for_sampler, RequestType::save_weights_external,
                    RequestType::unload_model, RequestType::sample})
    if (name == to_string(type))
      return type;
  return fail(Errc::io_error, fmt::format("the journal knows of an operation `{}`", name));
}

/// Runs a statement that has no rows.
Result<void> execute(Result<Statement>& statement) {
  return statement->step().map([](bool) {});
}

/// Prepares a statement, binds values and runs it.
template <class... Values>
Result<void> write(const Database& database, std::string_view sql, const Values&... values) {
  auto statement = database.prepare(sql);
  if (!statement)
    return fail(std::move(statement.error()));
  (statement->bind(values), ...);
  return execute(statement);
}

std::int64_t signed_of(std::size_t value) {
  return static_cast<std::int64_t>(value);
}

std::size_t size_of(std::int64_t value) {
  return static_cast<std::size_t>(value);
}

tl::unexpected<Error> damaged(const Database& database, const std::string& what) {
  return fail(Errc::io_error,
              fmt::format("the journal {} is damaged: {}", database.file().string(), what));
}

/// Refuses what is damaged, before anything is read from it or written to it.
Result<void> check_whole(const Database& database) {
  auto statement = database.prepare("PRAGMA quick_check(1)");
  if (!statement)
    return fail(std::move(statement.error()));
  const auto row = statement->step();
  if (!row)
    return fail(row.error());
  if (const auto found = *row ? statement->text(0) : std::string{"nothing is told"}; found != "ok")
    return damaged(database, found);
  for (const auto& [table, columns] : all_digested) {
    const auto changed = database.integer(
        fmt::format("SELECT count(*) FROM {} WHERE digest IS NOT digest_of({})", table, columns));
    if (!changed)
      return fail(changed.error());
    if (*changed != 0)
      return damaged(database, fmt::format("of `{}`, {} rows have changed", table, *changed));
  }
  return {};
}

/// Refuses what is no journal, or not one that we can read. @returns whether it is new
Result<bool> check_kind(const Database& database) {
  const auto application = database.integer("PRAGMA application_id");
  const auto tables = database.integer("SELECT count(*) FROM sqlite_master");
  const auto version = database.integer("PRAGMA user_version");
  for (const auto* read : {&application, &tables, &version})
    if (!*read)
      return fail(read->error());
  if (*application == 0 && *tables == 0 && *version == 0)
    return true;
  if (*application != application_id)
    return fail(Errc::io_error,
                fmt::format("{} is a database, but no journal of a job", database.file().string()));
  if (*version != schema_version)
    return fail(Errc::io_error,
                fmt::format("the journal {} is of version {}, but this release knows version {} "
                            "only: use the release that wrote it",
                            database.file().string(), *version, schema_version));
  if (auto whole = check_whole(database); !whole)
    return fail(std::move(whole.error()));
  return false;
}

Result<void> check_job(const Database& database, const JobIdentity& identity) {
  auto statement = database.prepare("SELECT name, value FROM job ORDER BY position");
  if (!statement)
    return fail(std::move(statement.error()));
  const auto other = [&](const std::string& name, const std::string& was, const std::string& is) {
    return fail(Errc::conflict,
                fmt::format("{} is the journal of another job: its {} is {}, but {} is asked for",
                            database.file().string(), name, was, is));
  };
  for (const auto& field : identity) {
    const auto row = statement->step();
    if (!row)
      return fail(row.error());
    if (!*row)
      return other(field.name, "not set", field.value);
    if (statement->text(0) != field.name)
      return other(statement->text(0), statement->text(1), "none");
    if (statement->text(1) != field.value)
      return other(field.name, statement->text(1), field.value);
  }
  const auto more = statement->step();
  if (!more)
    return fail(more.error());
  if (*more)
    return other(statement->text(0), statement->text(1), "none");
  return {};
}

Result<void> create(const Database& database, const JobIdentity& identity) {
  auto transaction = Transaction::begin(database);
  if (!transaction)
    return fail(std::move(transaction.error()));
  if (auto made = database.run((schema + digest_triggers()).c_str()); !made)
    return made;
  for (const auto& field : identity)
    if (auto noted
        = write(database, "INSERT INTO job(name, value) VALUES (?, ?)", field.name, field.value);
        !noted)
      return noted;
  return transaction->commit();
}

} // namespace

struct JobJournal::Impl {
  explicit Impl(Database opened) : database(std::move(opened)) {}

  /// Does several writes as one. @param safe whether it is on the disk before this returns
  template <class Writes>
  Result<void> write_all(bool safe, Writes writes) {
    const auto lock = std::scoped_lock{mutex};
    if (auto set = database.run(safe ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
        !set)
      return set;
    auto transaction = Transaction::begin(database);
    if (!transaction)
      return fail(std::move(transaction.error()));
    if (Result<void> written = writes(); !written)
      return written;
    return transaction->commit();
  }

  Result<void> settle_turns(std::size_t turns) const {
    return write(database,
                 "DELETE FROM request WHERE turn IN"
                 " (SELECT DISTINCT turn FROM request ORDER BY turn LIMIT ?)",
                 signed_of(turns));
  }

  /// Reads rows until there are no more.
  template <class T, class Read>
  Result<std::vector<T>> read_all(std::string_view sql, Read read) const {
    const auto lock = std::scoped_lock{mutex};
    auto statement = database.prepare(sql);
    if (!statement)
      return fail(std::move(statement.error()));
    std::vector<T> result;
    while (true) {
      const auto row = statement->step();
      if (!row)
        return fail(row.error());
      if (!*row)
        return result;
      result.push_back(read(*statement));
    }
  }

  Result<std::int64_t> integer(std::string_view sql) const {
    const auto lock = std::scoped_lock{mutex};
    return database.integer(sql);
  }

  Database database;
  mutable std::mutex mutex;
};

JobJournal::JobJournal(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

JobJournal::~JobJournal() = default;

Result<std::unique_ptr<JobJournal>> JobJournal::open(const std::filesystem::path& file,
                                                     const JobIdentity& identity) {
  auto database = Database::open(file);
  if (!database)
    return fail(std::move(database.error()));
  const auto is_new = check_kind(*database);
  if (!is_new)
    return fail(is_new.error());
  if (auto ready = *is_new ? create(*database, identity) : check_job(*database, identity); !ready)
    return fail(std::move(ready.error()));
  // Appending to a log is one wait for the disk; a rollback journal is three. Only the end of a
  // journal is used, so that a cache of all of it, which SQLite would keep, is of no use.
  if (auto set = database->run("PRAGMA journal_mode=WAL; PRAGMA cache_size=-64"); !set)
    return fail(std::move(set.error()));
  return std::unique_ptr<JobJournal>{new JobJournal{std::make_unique<Impl>(std::move(*database))}};
}

Result<std::optional<JobIdentity>> JobJournal::finished_job(const std::filesystem::path& file) {
  auto failed = std::error_code{};
  if (!std::filesystem::exists(file, failed))
    return std::nullopt;
  auto database = Database::open(file);
  if (!database)
    return fail(std::move(database.error()));
  const auto is_new = check_kind(*database);
  if (!is_new)
    return fail(is_new.error());
  if (*is_new)
    return std::nullopt;
  const auto journal = JobJournal{std::make_unique<Impl>(std::move(*database))};
  const auto finished = journal.finished();
  if (!finished)
    return fail(finished.error());
  if (!*finished)
    return std::nullopt;
  return journal.impl_->read_all<JobField>("SELECT name, value FROM job ORDER BY position",
                                           [](const Statement& row) {
                                             return JobField{row.text(0), row.text(1)};
                                           });
}

// --- what is known -------------------------------------------------------------------------------

Result<std::optional<JobAttempt>> JobJournal::attempt() const {
  auto all = impl_->read_all<JobAttempt>(
      "SELECT session_id, next_model_seq_id, next_sampling_session_seq_id, model_id, first_step,"
      " restored_from FROM attempt ORDER BY id DESC LIMIT 1",
      [](const Statement& row) {
        return JobAttempt{.session = {row.text(0), row.integer(1), row.integer(2)},
                          .model_id = row.text(3),
                          .first_step = size_of(row.integer(4)),
                          .restored_from = row.text(5)};
      });
  if (!all)
    return fail(std::move(all.error()));
  if (all->empty())
    return std::nullopt;
  return std::move(all->front());
}

Result<AttachTrainingClient> JobJournal::attach() const {
  const auto present = attempt();
  if (!present)
    return fail(present.error());
  const auto next = impl_->integer("SELECT next_seq_id FROM attempt ORDER BY id DESC LIMIT 1");
  if (!next)
    return fail(next.error());
  struct Row {
    std::int64_t turn;
    std::string type;
    NumberedRequest request;
  };
  auto rows = impl_->read_all<Row>(
      "SELECT turn, type, seq_id, sampling_session_seq_id, request_id, model_id FROM request"
      " ORDER BY seq_id",
      [](const Statement& row) {
        auto request = NumberedRequest{.seq_id = row.integer(2)};
        if (!row.is_null(3))
          request.sampling_session_seq_id = row.integer(3);
        if (!row.is_null(4))
          request.accepted = FutureRef{row.text(4), row.text(5)};
        return Row{row.integer(0), row.text(1), std::move(request)};
      });
  if (!rows)
    return fail(std::move(rows.error()));
  auto result = AttachTrainingClient{*present ? (*present)->model_id : std::string{}, *next, {}};
  std::int64_t turn = 0;
  for (auto& row : *rows) {
    const auto type = parse_type(row.type);
    if (!type)
      return fail(type.error());
    row.request.type = *type;
    if (row.turn != turn)
      result.open.emplace_back();
    turn = row.turn;
    result.open.back().push_back(std::move(row.request));
  }
  return result;
}

Result<std::vector<JobStep>> JobJournal::steps() const {
  return impl_->read_all<JobStep>("SELECT step, epoch, batch, line FROM step ORDER BY step",
                                  [](const Statement& row) {
                                    return JobStep{size_of(row.integer(0)), size_of(row.integer(1)),
                                                   size_of(row.integer(2)), row.text(3)};
                                  });
}

Result<std::vector<JobCheckpoint>> JobJournal::checkpoints() const {
  return impl_->read_all<JobCheckpoint>(
      "SELECT next_step, state_path, line FROM checkpoint ORDER BY id", [](const Statement& row) {
        return JobCheckpoint{size_of(row.integer(0)), row.text(1), row.text(2)};
      });
}

Result<bool> JobJournal::finished() const {
  return impl_->integer("SELECT finished FROM attempt ORDER BY id DESC LIMIT 1")
      .map([](std::int64_t x) { return x != 0; });
}

// --- what happens --------------------------------------------------------------------------------

Result<void> JobJournal::begin(const JobAttempt& attempt) {
  const auto& database = impl_->database;
  return impl_->write_all(true, [&]() -> Result<void> {
    const auto first = signed_of(attempt.first_step);
    if (auto done = write(database, "DELETE FROM request"); !done)
      return done;
    if (auto done = write(database, "DELETE FROM step WHERE step >= ?", first); !done)
      return done;
    if (auto done = write(database, "DELETE FROM checkpoint WHERE next_step > ?", first); !done)
      return done;
    return write(database,
                 "INSERT INTO attempt(session_id, next_model_seq_id, next_sampling_session_seq_id,"
                 " model_id, first_step, restored_from) VALUES (?, ?, ?, ?, ?, ?)",
                 attempt.session.session_id, attempt.session.next_model_seq_id,
                 attempt.session.next_sampling_session_seq_id, attempt.model_id, first,
                 attempt.restored_from);
  });
}

Result<void> JobJournal::ready(const SessionRecord& session, const std::string& model_id) {
  const auto& database = impl_->database;
  return impl_->write_all(true, [&]() -> Result<void> {
    if (auto done = write(database, "DELETE FROM request"); !done)
      return done;
    return write(database,
                 "UPDATE attempt SET next_model_seq_id = ?, next_sampling_session_seq_id = ?,"
                 " model_id = ? WHERE id = (SELECT max(id) FROM attempt)",
                 session.next_model_seq_id, session.next_sampling_session_seq_id, model_id);
  });
}

Result<void> JobJournal::update(const SessionRecord& session) {
  return impl_->write_all(true, [&] {
    return write(impl_->database,
                 "UPDATE attempt SET session_id = ?, next_model_seq_id = ?,"
                 " next_sampling_session_seq_id = ? WHERE id = (SELECT max(id) FROM attempt)",
                 session.session_id, session.next_model_seq_id,
                 session.next_sampling_session_seq_id);
  });
}

Result<void> JobJournal::abandon() {
  return update({});
}

Result<void> JobJournal::note(const NumberedTurn& turn) {
  if (turn.empty())
    return {};
  const auto& database = impl_->database;
  const auto first = turn.front().seq_id;
  return impl_->write_all(true, [&]() -> Result<void> {
    if (auto done = write(database, "DELETE FROM request WHERE seq_id >= ?", first); !done)
      return done;
    for (const auto& request : turn)
      if (auto done = write(database,
                            "INSERT INTO request(seq_id, turn, type, sampling_session_seq_id)"
                            " VALUES (?, ?, ?, ?)",
                            request.seq_id, first, std::string_view{to_string(request.type)},
                            request.sampling_session_seq_id);
          !done)
        return done;
    return write(database,
                 "UPDATE attempt SET next_seq_id = ? WHERE id = (SELECT max(id) FROM attempt)",
                 turn.back().seq_id + 1);
  });
}

Result<void> JobJournal::accepted(std::int64_t seq_id, const FutureRef& result) {
  // If this is lost, the request is sent again under its number: no need to wait for the disk.
  return impl_->write_all(false, [&] {
    return write(impl_->database,
                 "UPDATE request SET request_id = ?, model_id = ? WHERE seq_id = ?",
                 result.request_id, result.model_id, seq_id);
  });
}

Result<void> JobJournal::settle(const JobStep& step, std::size_t turns) {
  return impl_->write_all(false, [&]() -> Result<void> {
    if (auto done
        = write(impl_->database, "INSERT INTO step(step, epoch, batch, line) VALUES (?, ?, ?, ?)",
                signed_of(step.step), signed_of(step.epoch), signed_of(step.batch), step.row);
        !done)
      return done;
    return impl_->settle_turns(turns);
  });
}

Result<void> JobJournal::settle(const JobCheckpoint& checkpoint, std::size_t turns) {
  return impl_->write_all(true, [&]() -> Result<void> {
    if (auto done
        = write(impl_->database,
                "INSERT OR REPLACE INTO checkpoint(next_step, state_path, line) VALUES (?, ?, ?)",
                signed_of(checkpoint.next_step), checkpoint.state_path, checkpoint.row);
        !done)
      return done;
    return impl_->settle_turns(turns);
  });
}

Result<void> JobJournal::forget_checkpoint(const std::string& state_path) {
  return impl_->write_all(true, [&] {
    return write(impl_->database, "DELETE FROM checkpoint WHERE state_path = ?", state_path);
  });
}

Result<void> JobJournal::finish() {
  return impl_->write_all(true, [&] {
    return write(impl_->database,
                 "UPDATE attempt SET finished = 1 WHERE id = (SELECT max(id) FROM attempt)");
  });
}

} // namespace tinkaf

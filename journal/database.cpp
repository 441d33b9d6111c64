// SPDX-License-Identifier: Apache-2.0
#include "journal/database.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include <sqlite3.h>
#include <unistd.h>

namespace tinkaf::journal {

namespace {

/// FNV-1a over types, lengths and bytes.
void digest_of(sqlite3_context* context, int count, sqlite3_value** values) {
  auto digest = std::uint64_t{0xCBF29CE484222325U};
  const auto add = [&digest](unsigned char byte) { digest = (digest ^ byte) * 0x100000001B3U; };
  for (auto** value = values; value != values + count; ++value) {
    add(static_cast<unsigned char>(sqlite3_value_type(*value)));
    const auto* const text = sqlite3_value_text(*value);
    const auto size = sqlite3_value_bytes(*value);
    for (auto rest = static_cast<std::uint32_t>(size); rest > 0; rest >>= 8U)
      add(static_cast<unsigned char>(rest & 0xFFU));
    add(0);
    for (auto at = 0; at < size; ++at)
      add(text[at]);
  }
  sqlite3_result_int64(context, static_cast<std::int64_t>(digest));
}

/// Why a file cannot be written, in the system's words; empty if it can. SQLite tells of its last
/// try only, which was to read.
std::string reason_why_not(const std::filesystem::path& file) {
  const auto made = ::access(file.c_str(), F_OK) == 0;
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path{"."};
  return ::access(made ? file.c_str() : folder.c_str(), W_OK) == 0 ? "" : std::strerror(errno);
}

} // namespace

void Statement::Finalize::operator()(sqlite3_stmt* statement) const noexcept {
  sqlite3_finalize(statement);
}

Statement& Statement::bind(std::int64_t value) {
  sqlite3_bind_int64(statement_.get(), ++bound_, value);
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  sqlite3_bind_text(statement_.get(), ++bound_, value.data(), static_cast<int>(value.size()),
                    SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind(const std::optional<std::int64_t>& value) {
  return value ? bind(*value) : bind_null();
}

Statement& Statement::bind_null() {
  sqlite3_bind_null(statement_.get(), ++bound_);
  return *this;
}

Result<bool> Statement::step() {
  switch (sqlite3_step(statement_.get())) {
  case SQLITE_ROW:
    return true;
  case SQLITE_DONE:
    return false;
  default:
    return database_->failure();
  }
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const auto size = sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr ? std::string{} : std::string{text, static_cast<std::size_t>(size)};
}

bool Statement::is_null(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

void Database::Close::operator()(sqlite3* database) const noexcept {
  sqlite3_close_v2(database);
}

Result<Database> Database::open(const std::filesystem::path& file) {
  sqlite3* opened = nullptr;
  const auto flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
                     | SQLITE_OPEN_PRIVATECACHE | SQLITE_OPEN_EXRESCODE;
  // SQLite gives another meaning to names that begin with "file:" or are ":memory:".
  auto ignored = std::error_code{};
  const auto whole = std::filesystem::absolute(file, ignored);
  const auto status = sqlite3_open_v2(whole.c_str(), &opened, flags, nullptr);
  auto database = Database{opened, file};
  if (status != SQLITE_OK)
    return database.failure();
  if (sqlite3_create_function_v2(opened, "digest_of", -1,
                                 SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, nullptr,
                                 digest_of, nullptr, nullptr, nullptr)
      != SQLITE_OK)
    return database.failure();
  // An exclusive lock needs no shared memory, and the system drops it with the process.
  if (auto locked = database.run("PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; COMMIT"); !locked)
    return fail(std::move(locked.error()));
  // Whoever had it until now may have taken it away.
  auto is_gone = 0;
  sqlite3_file_control(opened, "main", SQLITE_FCNTL_HAS_MOVED, &is_gone);
  if (is_gone != 0)
    return fail(Errc::conflict,
                fmt::format("another process has just taken away the journal {}", file.string()));
  return database;
}

Result<Statement> Database::prepare(std::string_view sql) const {
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(database_.get(), sql.data(), static_cast<int>(sql.size()), &statement,
                         nullptr)
      != SQLITE_OK)
    return failure();
  return Statement{*this, statement};
}

Result<void> Database::run(const char* sql) const {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    return failure();
  return {};
}

Result<std::int64_t> Database::integer(std::string_view sql) const {
  auto statement = prepare(sql);
  if (!statement)
    return fail(std::move(statement.error()));
  const auto row = statement->step();
  if (!row)
    return fail(row.error());
  return *row ? statement->integer(0) : 0;
}

tl::unexpected<Error> Database::failure() const {
  const auto status = database_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(database_.get());
  switch (status & 0xFF) {
  case SQLITE_BUSY:
  case SQLITE_LOCKED:
    return fail(Errc::conflict,
                fmt::format("the journal {} is in use by another process", file_.string()));
  case SQLITE_NOTADB:
    return fail(Errc::io_error, fmt::format("{} is no journal of a job", file_.string()));
  case SQLITE_CORRUPT:
    return fail(Errc::io_error, fmt::format("the journal {} is damaged: {}", file_.string(),
                                            sqlite3_errmsg(database_.get())));
  default: {
    const auto reason = reason_why_not(file_);
    return fail(Errc::io_error,
                fmt::format("cannot use the journal {}: {}{}", file_.string(),
                            sqlite3_errstr(status), reason.empty() ? "" : ": " + reason));
  }
  }
}

Result<Transaction> Transaction::begin(const Database& database) {
  if (auto begun = database.run("BEGIN IMMEDIATE"); !begun)
    return fail(std::move(begun.error()));
  return Transaction{database};
}

Transaction::~Transaction() {
  // SQLite may have undone it by itself; then there is nothing left to do.
  if (database_ != nullptr)
    (void)database_->run("ROLLBACK");
}

Result<void> Transaction::commit() {
  auto done = database_->run("COMMIT");
  if (done)
    database_ = nullptr;
  return done;
}

} // namespace tinkaf::journal

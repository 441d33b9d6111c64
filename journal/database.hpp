// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "messages/error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

struct sqlite3;
struct sqlite3_stmt;

// Private to this folder: as much of SQLite as a journal needs, with errors as values.

namespace tinkaf::journal {

/// A statement that is running; holds its database's cursor until it goes away.
class Statement {
public:
  Statement(Statement&&) noexcept = default;
  Statement& operator=(Statement&&) noexcept = default;

  /// Gives the next parameter its value.
  Statement& bind(std::int64_t value);
  Statement& bind(std::string_view value);
  Statement& bind(const std::optional<std::int64_t>& value);
  Statement& bind_null();

  /// Goes to the next row; false behind the last.
  [[nodiscard]] Result<bool> step();

  [[nodiscard]] std::int64_t integer(int column) const;
  [[nodiscard]] std::string text(int column) const;
  [[nodiscard]] bool is_null(int column) const;

private:
  friend class Database;

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept;
  };

  Statement(const class Database& database, sqlite3_stmt* statement)
      : database_(&database), statement_(statement) {}

  const Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

/// A file of SQLite that this process alone uses. Not for use from several threads at once.
///
/// Its statements know a function `digest_of(x, …)`: 64 bits that any changed byte changes.
class Database {
public:
  /// Opens a file, making it if it is missing, and locks it until the process ends or lets go.
  /// @returns `Errc::conflict` if another process or journal holds it, `Errc::io_error` naming the
  ///   file, also if it is no database
  [[nodiscard]] static Result<Database> open(const std::filesystem::path& file);

  /// Prepares one statement. @returns as `run`
  [[nodiscard]] Result<Statement> prepare(std::string_view sql) const;

  /// Runs statements without parameters and rows.
  /// @returns `Errc::io_error` naming the file and SQLite's reason
  [[nodiscard]] Result<void> run(const char* sql) const;

  /// The first column of the first row of a statement without parameters; 0 if there is none.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view sql) const;

  /// What went wrong last, as an error that names the file.
  [[nodiscard]] tl::unexpected<Error> failure() const;

  [[nodiscard]] const std::filesystem::path& file() const noexcept {
    return file_;
  }

private:
  struct Close {
    void operator()(sqlite3* database) const noexcept;
  };

  Database(sqlite3* database, std::filesystem::path file)
      : database_(database), file_(std::move(file)) {}

  std::unique_ptr<sqlite3, Close> database_;
  std::filesystem::path file_;
};

/// All or nothing: undone unless it is committed.
class Transaction {
public:
  [[nodiscard]] static Result<Transaction> begin(const Database& database);

  Transaction(Transaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();

  [[nodiscard]] Result<void> commit();

private:
  explicit Transaction(const Database& database) : database_(&database) {}

  const Database* database_;
};

} // namespace tinkaf::journal

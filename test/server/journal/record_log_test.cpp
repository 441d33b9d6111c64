// SPDX-License-Identifier: Apache-2.0
#include "server/journal/record_log.hpp"

#include "test/catch.hpp"
#include "test/train/temp_folder.hpp"

#include <fstream>
#include <string>
#include <vector>

using namespace tinkaf;
using namespace tinkaf::server;
using namespace tinkaf::test;

namespace {

struct LogFixture {
  LogFixture() {
    for (int i = 0; i < 3; ++i)
      REQUIRE(log.append({static_cast<std::uint8_t>(i + 1), "note", std::string(10, 'x')}));
  }

  /// Changes one byte.
  void spoil(std::streamoff at) const {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(at);
    file.put('!');
  }

  /// The kinds that a new reader finds, and how it finds the file.
  LogCondition read() {
    kinds.clear();
    return RecordLog{path}
        .read([&](const Record& x) {
          CHECK(x.note == "note");
          kinds.push_back(x.kind);
        })
        .value();
  }

  static constexpr std::uintmax_t record_size = 20 + 4 + 10;
  TempFolder folder;
  std::filesystem::path path = folder.path() / "log";
  RecordLog log{path};
  std::vector<int> kinds;
};

using Kinds = std::vector<int>;

} // namespace

TEST_CASE_METHOD(LogFixture, "A log gives back what was put in", "[server][journal]") {
  const auto found = read();
  CHECK_FALSE(found.torn);
  CHECK_FALSE(found.damage);
  CHECK(kinds == Kinds{1, 2, 3});
}

TEST_CASE_METHOD(LogFixture, "A record that was cut off is ignored and cut away",
                 "[server][journal]") {
  const auto left
      = GENERATE(std::uintmax_t{1}, std::uintmax_t{19}, std::uintmax_t{20}, std::uintmax_t{33});
  std::filesystem::resize_file(path, 2 * record_size + left);
  CHECK(read().torn);
  CHECK(kinds == Kinds{1, 2});
  RecordLog next{path};
  REQUIRE(next.trim(next.read([](const Record&) {}).value()));
  REQUIRE(next.append({9, "note", "more"}));
  CHECK_FALSE(read().damage);
  CHECK(kinds == Kinds{1, 2, 9});
}

TEST_CASE_METHOD(LogFixture, "Zeros at the end are no damage", "[server][journal]") {
  std::filesystem::resize_file(path, 5 * record_size);
  CHECK(read().torn);
  CHECK(kinds == Kinds{1, 2, 3});
}

TEST_CASE_METHOD(LogFixture, "A record that has changed is damage, wherever it is",
                 "[server][journal]") {
  SECTION("in its bytes, the others are there") {
    spoil(record_size + 25);
    CHECK(read().damage);
    CHECK(kinds == Kinds{1, 3});
  }
  SECTION("in its head, those before are there") {
    spoil(record_size + 4);
    CHECK(read().damage);
    CHECK(kinds == Kinds{1});
  }
  SECTION("in the last one too") {
    spoil(2 * record_size + 25);
    CHECK(read().damage);
    CHECK(kinds == Kinds{1, 2});
  }
}

TEST_CASE_METHOD(LogFixture, "A log is rewritten with what is to stay, and goes on",
                 "[server][journal]") {
  const Record first{7, "note", {}};
  REQUIRE(log.rewrite(&first, [](const Record& x, const RecordLog::Visit& write) {
    if (x.kind != 2)
      write(x);
  }));
  REQUIRE(log.append({4, "note", {}}));
  CHECK_FALSE(read().damage);
  CHECK(kinds == Kinds{7, 1, 3, 4});
  CHECK(log.size() == std::filesystem::file_size(path));
}

TEST_CASE_METHOD(LogFixture, "A full disk leaves the log as it is", "[server][journal]") {
  RecordLog full{path, [] { return true; }};
  const auto added = full.append({4, "note", {}});
  REQUIRE_FALSE(added);
  CHECK(added.error().message.find(path.string()) != std::string::npos);
  CHECK(full.rewrite(nullptr, [](const Record&, const RecordLog::Visit&) {}).has_value() == false);
  (void)read();
  CHECK(kinds == Kinds{1, 2, 3});
}

// SPDX-License-Identifier: Apache-2.0
#include "client/paged.hpp"

#include "test/catch.hpp"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

using namespace tinkaf;

namespace {

/// A list at a service that changes between pages; `before` runs ahead of each one.
struct List {
  std::vector<int> entries;
  bool tells_total = true;
  std::function<void(List&, int page)> before = [](List&, int) {};
  int pages = 0;

  explicit List(int count) : entries(static_cast<std::size_t>(count)) {
    std::iota(entries.begin(), entries.end(), 0);
  }

  Paged<int> walk(std::int64_t page_size) {
    return {[this](std::int64_t limit, std::int64_t offset) -> Result<Page<int>> {
              before(*this, ++pages);
              REQUIRE(pages < 1'000);
              auto size = static_cast<std::int64_t>(entries.size());
              auto from = entries.begin() + std::min(offset, size);
              auto to = entries.begin() + std::min(offset + limit, size);
              Page<int> page{{from, to}, {}};
              if (tells_total)
                page.total_count = size;
              return page;
            },
            [](const int& x) { return std::to_string(x); }, page_size};
  }
};

std::vector<int> all(Paged<int> pages) {
  auto entries = pages.all();
  REQUIRE(entries.has_value());
  CHECK(std::set<int>(entries->begin(), entries->end()).size() == entries->size());
  return *entries;
}

} // namespace

TEST_CASE("A list is walked to its end, whatever the size of its pages", "[client][paged]") {
  for (auto count : {0, 1, 2, 3, 7, 10, 11})
    for (auto page_size : {1, 2, 3, 5, 10, 100})
      for (auto tells_total : {true, false}) {
        INFO(count << " entries, pages of " << page_size << ", total " << tells_total);
        List list{count};
        list.tells_total = tells_total;
        CHECK(all(list.walk(page_size)) == List{count}.entries);
      }
}

TEST_CASE("Pages are asked for as their entries are", "[client][paged]") {
  List list{100};
  auto pages = list.walk(10);
  CHECK(list.pages == 0);
  CHECK(pages.all(10)->size() == 10);
  CHECK(list.pages == 1);
  CHECK(pages.total_count() == 100);
  CHECK(pages.next()->value() == 10);
  CHECK(list.pages == 2);
}

TEST_CASE("Entries that come meanwhile make no other come twice", "[client][paged]") {
  List list{30};
  list.before = [](List& x, int page) {
    if (page > 1 && page < 20)
      for (int i = 0; i < 3; ++i)
        x.entries.insert(x.entries.begin(), 1'000 * page + i);
  };
  auto entries = all(list.walk(5));
  for (int i = 0; i < 30; ++i)
    CHECK(std::count(entries.begin(), entries.end(), i) == 1);
}

TEST_CASE("Entries that go meanwhile hide no other", "[client][paged]") {
  auto tells_total = GENERATE(true, false);
  List list{40};
  list.tells_total = tells_total;
  SECTION("from the front, between two pages") {
    list.before = [](List& x, int page) {
      if (page == 3)
        x.entries.erase(x.entries.begin(), x.entries.begin() + 8);
    };
  }
  SECTION("the last one that was seen") {
    list.before = [](List& x, int page) {
      if (page == 2)
        std::erase(x.entries, 4);
    };
  }
  SECTION("twice") {
    list.before = [](List& x, int page) {
      if (page == 3 || page == 9)
        x.entries.erase(x.entries.begin(), x.entries.begin() + 2);
    };
  }
  auto entries = all(list.walk(5));
  for (auto entry : list.entries) // those that were there from beginning to end
    CHECK(std::count(entries.begin(), entries.end(), entry) == 1);
}

TEST_CASE("A list that shrinks below the walk is looked at once more", "[client][paged]") {
  List list{9};
  list.before = [](List& x, int page) {
    if (page == 2)
      x.entries = {8};
  };
  auto entries = all(list.walk(4));
  CHECK(std::count(entries.begin(), entries.end(), 8) == 1);
}

TEST_CASE("A walk ends at an empty page although more entries are announced", "[client][paged]") {
  int calls = 0;
  Paged<int> pages{[&](std::int64_t, std::int64_t offset) -> Result<Page<int>> {
                     ++calls;
                     REQUIRE(calls < 100);
                     if (offset == 0)
                       return Page<int>{{1, 2, 3}, 1'000};
                     return Page<int>{{}, 1'000};
                   },
                   [](const int& x) { return std::to_string(x); }, 10};
  CHECK(all(pages) == std::vector<int>{1, 2, 3});
}

TEST_CASE("A service that answers the same for ever does not keep a walk going",
          "[client][paged]") {
  int calls = 0;
  auto total = GENERATE(std::optional<std::int64_t>{}, std::optional<std::int64_t>{1'000'000});
  Paged<int> pages{[&](std::int64_t, std::int64_t) -> Result<Page<int>> {
                     ++calls;
                     REQUIRE(calls < 100);
                     return Page<int>{{1, 2, 3}, total};
                   },
                   [](const int& x) { return std::to_string(x); }, 3};
  CHECK(all(pages) == std::vector<int>{1, 2, 3});
}

TEST_CASE("A page that failed can be asked for again", "[client][paged]") {
  bool broken = true;
  Paged<int> pages{[&](std::int64_t limit, std::int64_t offset) -> Result<Page<int>> {
                     if (offset > 0 && std::exchange(broken, false))
                       return fail(Errc::connection, "gone");
                     auto end = std::min<std::int64_t>(offset + limit, 6);
                     Page<int> page{{}, 6};
                     for (auto i = offset; i < end; ++i)
                       page.entries.push_back(static_cast<int>(i));
                     return page;
                   },
                   [](const int& x) { return std::to_string(x); }, 3};
  CHECK(pages.all(3)->size() == 3);
  CHECK(pages.next().error().code == Errc::connection);
  CHECK(pages.all() == std::vector<int>{3, 4, 5});
}

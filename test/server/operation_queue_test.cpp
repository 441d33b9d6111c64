// SPDX-License-Identifier: Apache-2.0
#include "server/operation_queue.hpp"

#include "server/replies.hpp"
#include "test/catch.hpp"

using namespace std::chrono_literals;
using tinkaf::server::OperationQueue;

namespace {

using Ids = std::vector<std::string>;

Ids ids(const std::vector<OperationQueue::Operation>& operations) {
  Ids out;
  for (const auto& operation : operations)
    out.push_back(operation.request_id);
  return out;
}

struct Fixture {
  Ids add(std::optional<std::int64_t> seq_id, const std::string& id) {
    return ids(queue.add(seq_id, "digest of " + id, {.request_id = id, .run = {}}, now));
  }

  OperationQueue queue;
  OperationQueue::TimePoint now{1h};
};

} // namespace

TEST_CASE_METHOD(Fixture, "Operations run in the order of their numbers", "[server][order]") {
  CHECK(add(2, "b").empty());
  CHECK(add(3, "c").empty());
  CHECK(add(1, "a") == Ids{"a", "b", "c"});
  CHECK(add(5, "e").empty());
  CHECK(add(4, "d") == Ids{"d", "e"});
  CHECK(queue.next() == 6);
}

TEST_CASE_METHOD(Fixture, "A number is known again, with its payload or with another",
                 "[server][order]") {
  using Seen = OperationQueue::Seen;
  (void)add(1, "a");
  (void)add(3, "c");
  CHECK(queue.find(1, "digest of a").seen == Seen::repeated);
  CHECK(queue.find(1, "digest of a").request_id == "a");
  CHECK(queue.find(1, "another").seen == Seen::reused);
  CHECK(queue.find(3, "digest of c").request_id == "c");
  CHECK(queue.find(2, "digest of b").seen == Seen::fresh);
}

TEST_CASE_METHOD(Fixture, "A refused request uses its number up and is refused alike again",
                 "[server][order]") {
  CHECK(add(2, "b").empty());
  const auto refusal = tinkaf::server::error_reply(400, "no");
  CHECK(ids(queue.refuse(1, "digest of a", refusal, now)) == Ids{"b"});
  const auto again = queue.find(1, "digest of a");
  REQUIRE(again.refusal);
  CHECK(again.refusal->status == 400);
}

TEST_CASE_METHOD(Fixture, "Operations without a number run behind all that has arrived",
                 "[server][order]") {
  CHECK(add({}, "x") == Ids{"x"});
  CHECK(add(2, "b").empty());
  CHECK(add({}, "y").empty());
  CHECK(add(3, "c").empty());
  CHECK(add(1, "a") == Ids{"a", "b", "y", "c"}); // and uses no number up
}

TEST_CASE_METHOD(Fixture, "A number that never comes is given up", "[server][order]") {
  (void)add(1, "a");
  (void)add(3, "c");
  now += 5s;
  (void)add(6, "f");
  CHECK_FALSE(queue.expire(now, 6s).has_value());
  now += 1s;
  const auto expired = queue.expire(now, 6s);
  REQUIRE(expired.has_value());
  CHECK(expired->missing == 2);
  CHECK(ids(expired->operations) == Ids{"c", "f"});
  CHECK(queue.find(2, "digest of b").seen == OperationQueue::Seen::given_up);
  CHECK(queue.find(3, "digest of c").request_id == "c");
  CHECK(add(7, "g") == Ids{"g"});
}

TEST_CASE_METHOD(Fixture, "What waits can be taken out", "[server][order]") {
  (void)add(2, "b");
  (void)add({}, "y");
  (void)queue.refuse(4, "d", tinkaf::server::error_reply(400, "no"), now);
  CHECK(ids(queue.take_waiting()) == Ids{"b", "y"});
  CHECK(queue.waiting() == 0);
}

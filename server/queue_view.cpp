// SPDX-License-Identifier: Apache-2.0
#include "server/queue_view.hpp"

#include "api/wire/future.hpp"
#include "api/wire/json_writer.hpp"

#include <cmath>
#include <cstdint>

namespace tinkaf::server {

namespace {

/// In seconds, to the millisecond.
double seconds(std::chrono::steady_clock::duration time) {
  return std::round(std::chrono::duration<double, std::milli>(time).count()) / 1000.0;
}

struct Body {
  const QueueView* view;
  const std::string* request_id;
  std::chrono::steady_clock::time_point now;
};

void describe(wire::JsonWriter& v, const Body& x) {
  const auto& view = *x.view;
  v.literal("type", "try_again");
  v.field("request_id", *x.request_id);
  v.literal("queue_state", wire::to_string(view.state));
  v.unless_empty("queue_state_reason", view.reason);
  v.field("queue_depth", static_cast<std::int64_t>(view.depth));
  v.field("queue_total", static_cast<std::int64_t>(view.total));
  v.field("waited_sec", seconds(view.waited));
  if (view.running)
    v.object("running", [&](wire::JsonWriter& inner) {
      inner.literal("type", to_string(view.running->type));
      inner.field("seconds", seconds(x.now - view.running->since));
      inner.field("this_request", view.running->request_id == *x.request_id);
    });
}

} // namespace

std::string write_queue_view(const QueueView& view, const std::string& request_id,
                             std::chrono::steady_clock::time_point now) {
  return wire::write_json(Body{&view, &request_id, now});
}

} // namespace tinkaf::server

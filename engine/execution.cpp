// SPDX-License-Identifier: Apache-2.0
#include "engine/execution.hpp"

#include "api/overloaded.hpp"

#include <utility>
#include <variant>

namespace tinkaf {

Execution::Execution(std::shared_ptr<EngineClient> client, Pipeline pipeline)
    : client_(std::move(client)), pipeline_(std::move(pipeline)) {}

std::optional<Step> Execution::next() {
  std::optional<Step> result;
  auto over = false;
  auto act = Overloaded{[this](Pipeline::Send& send) {
                          auto answer = client_->submit(std::move(send.request));
                          if (!answer)
                            return pipeline_.submitted(fail(std::move(answer.error())));
                          open_.emplace(send.ticket, std::move(*answer));
                          pipeline_.submitted({});
                        },
                        [this](const Pipeline::Wait& wait) {
                          auto answer = open_.extract(wait.ticket);
                          pipeline_.answered(answer.mapped()());
                        },
                        [&](OpResult& done) { result.emplace(std::move(done)); },
                        [&](Failure& failure) { result.emplace(tl::unexpect, std::move(failure)); },
                        [&](const Pipeline::End&) { over = true; }};
  while (!result && !over) {
    auto action = pipeline_.next();
    std::visit(act, action);
  }
  return result;
}

Execution execute(std::shared_ptr<EngineClient> client, Schedule schedule,
                  std::shared_ptr<SpendCap> cap) {
  return {std::move(client), Pipeline{std::move(schedule), std::move(cap)}};
}

Execution execute(std::shared_ptr<EngineClient> client, OpSource source,
                  std::shared_ptr<SpendCap> cap) {
  return {std::move(client), Pipeline{std::move(source), std::move(cap)}};
}

} // namespace tinkaf

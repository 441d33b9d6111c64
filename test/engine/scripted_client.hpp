// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "api/overloaded.hpp"

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine_client.hpp"

namespace tinkaf::test {

/// A service that works in clock cycles, and notes what is submitted and waited for.
///
/// Waiting for a request runs the queue up to it. A forward_backward with an optim_step directly
/// behind it takes one cycle with it, any other request one; a forward_backward that finds the
/// queue empty after something has run has missed a cycle.
class ScriptedClient : public EngineClient {
public:
  /// What has happened: `fb1` was submitted, `?fb1` was waited for, `?fb1!` failed then, `!` could
  /// not be submitted. Custom losses are `fc`, others `fb`, optimizer steps `o`, saves `sv` and
  /// `st`, forward passes `fw`.
  std::string trace;

  std::size_t cycles = 0;
  std::vector<EngineRequest> requests;

  /// Requests that fail when they are waited for, by the names of the trace.
  std::set<std::string> failing;

  /// Requests that cannot be submitted.
  std::map<std::string, Errc> refused;

  /// Runs the function of a custom loss within its submission, as the official SDK does.
  bool custom_at_submission = false;

  /// Says nothing of the paths of sampler saves.
  bool without_paths = false;

  Result<AwaitAnswer> submit(EngineRequest request) override {
    const auto name = name_of(request);
    if (auto found = refused.find(name); found != refused.end()) {
      note("!");
      return fail(found->second, name + " is refused");
    }
    if (const auto* custom = std::get_if<SubmitCustom>(&request); custom && custom_at_submission)
      if (auto computed = compute(*custom); !computed) {
        note("!");
        return fail(std::move(computed.error()));
      }
    if (const auto* save = std::get_if<SubmitStateSave>(&request))
      if (!states_.insert(save->name).second) {
        note("!");
        return fail(Errc::conflict, "state `" + save->name + "` exists");
      }
    enqueue(name);
    requests.push_back(request);
    return [this, name, request = std::move(request)]() -> Result<EngineAnswer> {
      run_to(name);
      if (failing.contains(name)) {
        note("?" + name + "!");
        return fail(Errc::request_failed, name + " is out of luck");
      }
      note("?" + name);
      return answer(request);
    };
  }

  /// Requests that have not run.
  [[nodiscard]] std::size_t queued() const noexcept {
    return queue_.size();
  }

  /// A state of an earlier time.
  void add_state(const std::string& name) {
    states_.insert(name);
  }

private:
  std::string name_of(const EngineRequest& request) {
    static const char* const kinds[] = {"fb", "fc", "fw", "o", "sv", "st"};
    const std::string kind = kinds[request.index()];
    return kind + std::to_string(++counts_[kind]);
  }

  void note(const std::string& event) {
    trace += (trace.empty() ? "" : " ") + event;
  }

  void enqueue(const std::string& name) {
    note(name);
    if (name.starts_with("f") && !name.starts_with("fw") && queue_.empty() && has_run_)
      ++cycles;
    queue_.push_back(name);
  }

  void run_to(const std::string& name) {
    while (!done_.contains(name)) {
      const auto first = take();
      ++cycles;
      const auto is_step = first.starts_with("fb") || first.starts_with("fc");
      if (is_step && !queue_.empty() && queue_.front().starts_with("o"))
        (void)take();
    }
  }

  std::string take() {
    has_run_ = true;
    auto first = std::move(queue_.front());
    queue_.pop_front();
    done_.insert(first);
    return first;
  }

  Result<CustomLossValue> compute(const SubmitCustom& custom) {
    const auto pass = "fw" + std::to_string(++counts_["fw"]);
    enqueue(pass);
    run_to(pass);
    note("?" + pass);
    const auto logprobs = logprobs_of(custom.datums);
    return custom.fn({.data = *custom.datums, .logprobs = logprobs, .stop = {}});
  }

  static std::vector<TensorData> logprobs_of(const Batch& batch) {
    std::vector<TensorData> result;
    for (const auto& datum : *batch)
      result.push_back(TensorData::of(
          std::vector<float>(datum.loss_fn_inputs.at("target_tokens").size(), -0.5F)));
    return result;
  }

  static ForwardBackwardOutput output_of(const Batch& batch) {
    ForwardBackwardOutput output;
    for (auto& logprobs : logprobs_of(batch))
      output.loss_fn_outputs.push_back({{"logprobs", std::move(logprobs)}});
    return output;
  }

  [[nodiscard]] EngineAnswer answer(const EngineRequest& request) const {
    return std::visit(
        Overloaded{
            [](const SubmitForwardBackward& x) -> EngineAnswer { return output_of(x.datums); },
            [](const SubmitCustom& x) -> EngineAnswer { return output_of(x.datums); },
            [](const SubmitForward& x) -> EngineAnswer { return output_of(x.datums); },
            [](const SubmitOptimStep&) -> EngineAnswer { return OptimStepResponse{}; },
            [this](const SubmitSamplerSave& x) -> EngineAnswer {
              auto path = without_paths ? std::nullopt : std::optional{"tinker://run/" + x.name};
              return SaveWeightsForSamplerResponse{path, std::nullopt};
            },
            [](const SubmitStateSave& x) -> EngineAnswer {
              return SaveWeightsResponse{"tinker://run/state/" + x.name};
            }},
        request);
  }

  std::map<std::string, int> counts_;
  std::deque<std::string> queue_;
  std::set<std::string> done_;
  std::set<std::string> states_;
  bool has_run_ = false;
};

} // namespace tinkaf::test

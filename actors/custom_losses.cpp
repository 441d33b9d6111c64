// SPDX-License-Identifier: Apache-2.0
#include "actors/custom_losses.hpp"

#include "api/batch_check.hpp"

#include <caf/send.hpp>

#include <algorithm>
#include <cmath>
#include <exception>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

namespace tinkaf {

namespace {

Result<void> check(const Batch& data, const CustomLossFn& loss) {
  if (!loss)
    return fail(Errc::invalid_argument, "the custom loss is no function");
  if (!data || data->empty())
    return fail(Errc::invalid_argument, "`data` is empty: a batch has at least one datum");
  for (std::size_t i = 0; i < data->size(); ++i)
    if (auto checked = check_custom_loss_datum((*data)[i], i); !checked)
      return checked;
  return {};
}

Result<CustomLossValue> call(const CustomLossFn& loss, const CustomLossInput& input) {
  try {
    auto value = loss(input);
    if (!value)
      value.error().message = "the custom loss failed: " + value.error().message;
    return value;
  } catch (const std::exception& error) {
    return fail(Errc::invalid_argument, std::string{"the custom loss threw: "} + error.what());
  } catch (...) {
    return fail(Errc::invalid_argument,
                "the custom loss threw something that is no std::exception");
  }
}

/// Runs the user's function and makes its gradients the data of the backward pass.
Result<LinearLoss> compute_linear_loss(const CustomLossFn& loss, const Batch& data,
                                       const std::vector<TensorData>& logprobs,
                                       std::stop_token stop) {
  auto value = call(loss, {.data = *data, .logprobs = logprobs, .stop = std::move(stop)});
  if (!value)
    return fail(std::move(value.error()));
  if (!std::isfinite(value->loss))
    return fail(Errc::invalid_argument,
                "the custom loss is " + std::to_string(value->loss) + ", but must be finite");
  auto linear = operations::build_linear_loss_data_safe(*data, value->gradients);
  if (!linear)
    return fail(std::move(linear.error()));
  value->metrics.emplace("custom_loss", value->loss);
  return LinearLoss{std::move(*linear), std::move(value->metrics)};
}

/// The requests of a pass over a batch.
template <class Encode>
std::vector<SubmitPart> parts_of(const Batch& data, const ChunkLimits& limits, RequestType type,
                                 Encode encode) {
  std::vector<SubmitPart> parts;
  for (const auto& chunk : plan_chunks(*data, limits)) {
    auto slice = BatchSlice{data, chunk.first, chunk.last};
    parts.push_back(
        {.type = type,
         .encode = [slice, encode](const NumberedRequest& number, const operations::Target& target)
             -> Result<HttpCall> { return encode(slice, number.seq_id, target); },
         .bytes = chunk.bytes});
  }
  return parts;
}

} // namespace

struct CustomLosses::Link {
  std::mutex mutex;
  TrainingWorkerActor client;

  void send(std::uint64_t id, Result<LinearLoss> computed) {
    std::lock_guard lock{mutex};
    if (client)
      caf::anon_send(client, atom::computed_v, id,
                     std::make_shared<Result<LinearLoss>>(std::move(computed)));
  }

  void cut() {
    std::lock_guard lock{mutex};
    client = nullptr;
  }
};

CustomLosses::CustomLosses(Self self, SubmitLane& lane, std::shared_ptr<LossThreads> threads,
                           ChunkLimits limits, TrainingNotesActor notes)
    : self_(self), lane_(lane), threads_(std::move(threads)), limits_(limits),
      notes_(std::move(notes)) {}

CustomLosses::~CustomLosses() {
  for (auto& [id, run] : runs_) {
    run.stop.request_stop();
    if (run.link)
      run.link->cut();
  }
}

void CustomLosses::start(Batch data, CustomLossFn loss, const Owed<ForwardBackwardOutput>& answer,
                         std::uint64_t asked) {
  if (auto checked = check(data, loss); !checked)
    return answer.fail(std::move(checked.error()));
  auto id = ++last_id_;
  auto input = std::make_shared<const ForwardBackwardInput>(
      ForwardBackwardInput{.data = operations::forward_data_for_custom_loss(data)});
  runs_.emplace(
      id, Run{.data = std::move(data), .loss = std::move(loss), .answer = answer, .asked = asked});
  auto encode
      = [input](const BatchSlice& slice, std::int64_t seq_id, const operations::Target& target) {
          return operations::send_forward_request(slice, *input, seq_id, target);
        };
  lane_.add({.parts = parts_of(input->data, limits_, RequestType::forward, encode),
             .done =
                 [this, id](Result<std::vector<FutureValue>> results) {
                   on_forward(id, std::move(results));
                 },
             .holder = id,
             .asked = asked});
}

void CustomLosses::on_forward(std::uint64_t id, Result<std::vector<FutureValue>> results) {
  auto found = runs_.find(id);
  if (found == runs_.end())
    return; // given up meanwhile
  if (!results)
    return fail_run(id, std::move(results.error()));
  auto logprobs = operations::poll_forward_custom_loss(std::move(*results), *found->second.data);
  if (logprobs)
    compute(id, std::move(*logprobs));
  else
    fail_run(id, std::move(logprobs.error()));
}

void CustomLosses::compute(std::uint64_t id, std::vector<TensorData> logprobs) {
  auto& run = runs_.at(id);
  run.link = std::make_shared<Link>();
  run.link->client = TrainingWorkerActor{self_};
  auto shared = std::make_shared<const std::vector<TensorData>>(std::move(logprobs));
  auto started = threads_->run([id, link = run.link, loss = std::move(run.loss), data = run.data,
                                shared, stop = run.stop.get_token()] {
    link->send(id, compute_linear_loss(loss, data, *shared, stop));
  });
  if (!started)
    fail_run(id, std::move(started.error()));
}

void CustomLosses::on_computed(std::uint64_t id, const LinearLossOutcome& computed) {
  auto found = runs_.find(id);
  if (found == runs_.end())
    return;
  if (!*computed)
    return fail_run(id, computed->error());
  if (notes_)
    self_->send(notes_, atom::computed_v, found->second.asked, computed);
  submit_backward(id, **computed);
}

void CustomLosses::submit_backward(std::uint64_t id, const LinearLoss& linear) {
  auto run = take(id);
  lane_.resume(id, backward_turn(linear, run.answer, run.asked));
}

void CustomLosses::go_on(const LinearLoss& computed, const Owed<ForwardBackwardOutput>& answer,
                         std::uint64_t asked) {
  lane_.add(backward_turn(computed, answer, asked));
}

SubmitTurn CustomLosses::backward_turn(const LinearLoss& linear,
                                       const Owed<ForwardBackwardOutput>& answer,
                                       std::uint64_t asked) const {
  auto done = [answer, metrics = linear.metrics](Result<std::vector<FutureValue>> results) {
    if (!results)
      return answer.fail(std::move(results.error()));
    auto output = operations::combine_outputs(std::move(*results));
    if (output)
      answer.deliver(operations::merge_custom_metrics(std::move(*output), metrics));
    else
      answer.fail(std::move(output.error()));
  };
  return {.parts = parts_of(linear.data, limits_, RequestType::forward_backward,
                            operations::send_backward_for_custom_loss),
          .done = std::move(done),
          .asked = asked};
}

void CustomLosses::fail_run(std::uint64_t id, Error error) {
  take(id).answer.fail(std::move(error));
  lane_.resume(id);
}

CustomLosses::Run CustomLosses::take(std::uint64_t id) {
  auto node = runs_.extract(id);
  auto& run = node.mapped();
  run.stop.request_stop();
  if (run.link)
    run.link->cut();
  return std::move(run);
}

void CustomLosses::cancel(std::uint64_t asked) {
  auto found = std::find_if(runs_.begin(), runs_.end(),
                            [asked](const auto& x) { return x.second.asked == asked; });
  if (found == runs_.end())
    return;
  auto id = found->first;
  take(id).answer.fail({Errc::cancelled, "the call was given up by its caller"});
  lane_.withdraw(id);
}

} // namespace tinkaf

// SPDX-License-Identifier: Apache-2.0
//
// The life of a checkpoint: save, sample from it, go on from it, list, download and delete.

#include "client/service.hpp"

#include <iostream>

#include "examples/example_batch.hpp"
#include "examples/example_service.hpp"

using namespace tinkaf;
using namespace std::chrono_literals;

namespace {

Result<double> step(const TrainingClient& training, const Batch& batch) {
  auto loss = training.forward_backward(batch);
  auto updated = training.optim_step({.learning_rate = 1e-2});
  if (auto result = updated.get(); !result)
    return fail(result.error());
  auto result = loss.get();
  if (!result)
    return fail(result.error());
  return result->metrics.at("loss:sum");
}

/// Samples from the weights as they are now; nothing stays at the service.
Result<void> sample_now(const TrainingClient& training) {
  auto sampling = training.save_weights_and_get_sampling_client();
  if (!sampling)
    return fail(sampling.error());
  auto answer = sampling->sample(ModelInput::from_ints({1, 40}), 1, {.max_tokens = 4}).get();
  if (!answer)
    return fail(answer.error());
  std::cout << answer->sequences.front().tokens.size() << " tokens sampled\n";
  return {};
}

Result<void> manage(const RestClient& rest, const std::string& path,
                    const std::filesystem::path& folder) {
  // A checkpoint without a time to live stays until it is deleted.
  if (auto kept = rest.set_checkpoint_ttl_from_tinker_path(path, 24h).get(); !kept)
    return fail(kept.error());
  auto checkpoints = rest.all_user_checkpoints().all();
  if (!checkpoints)
    return fail(checkpoints.error());
  for (const auto& checkpoint : *checkpoints)
    std::cout << checkpoint.tinker_path << ", " << checkpoint.size_bytes.value_or(0) << " bytes\n";
  auto ref = CheckpointRef::from_tinker_path(path);
  if (!ref)
    return fail(ref.error());
  auto files = rest.download_checkpoint({.checkpoint = *ref, .destination = folder / "half"}).get();
  if (!files)
    return fail(files.error());
  std::cout << files->files << " files in " << files->destination << '\n';
  if (auto gone = rest.delete_checkpoint_from_tinker_path(path).get(); !gone)
    return fail(gone.error());
  return {};
}

Result<void> run(const examples::ExampleService& example) {
  auto service = Service::connect(example.options);
  if (!service)
    return fail(service.error());
  auto training = service->create_lora_training_client(example.model, {.rank = 8, .seed = 1});
  if (!training)
    return fail(training.error());
  auto batch = examples::example_batch();
  if (auto loss = step(*training, batch); !loss)
    return fail(loss.error());
  auto saved = training->save_state("half", {.ttl = 1h}).get();
  if (!saved)
    return fail(saved.error());
  if (auto sampled = sample_now(*training); !sampled)
    return sampled;

  // The second step of this client and of one made from the checkpoint are the same.
  auto went_on = step(*training, batch);
  auto other = service->create_training_client_from_state_with_optimizer(saved->path);
  if (!went_on || !other)
    return fail(went_on ? other.error() : went_on.error());
  auto restored = step(*other, batch);
  if (!restored)
    return fail(restored.error());
  std::cout << "loss " << *went_on << ", from the checkpoint " << *restored << '\n';

  auto rest = service->create_rest_client();
  if (!rest)
    return fail(rest.error());
  return manage(*rest, saved->path, example.folder());
}

} // namespace

int main() {
  return examples::run_example(run);
}

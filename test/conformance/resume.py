# SPDX-License-Identifier: Apache-2.0
"""Saved, loaded and resumed: with the optimizer's state the same bits, without it others."""

from common import *

TOKENS = [30, 31, 32, 33, 34, 35]


def go_on(training, steps=3):
    out = [step(training, [next_token_datum(TOKENS)]) for _ in range(steps)]
    return [logprobs_of(x) for x in out]


service = tinker.ServiceClient()
training = training_client(service, rank=4, seed=7, user_metadata={"purpose": "resume"})
go_on(training)
path = training.save_state("three").result().path
assert path == f"tinker://{training.model_id}/weights/three", path
straight = go_on(training)

resumed = ready(service.create_training_client_from_state_with_optimizer(path))
assert resumed.get_info().model_data.model_name == BASE_MODEL
assert resumed.get_info().lora_rank == 4
assert go_on(resumed) == straight, "resumed with the optimizer: other bits"

weights_only = ready(service.create_training_client_from_state(path))
fresh = go_on(weights_only)
assert fresh[0] == straight[0], "the weights are the same before the first step"
assert fresh[1:] != straight[1:], "the optimizer's state was loaded though nobody asked"

# Another process's client: a session of its own.
elsewhere = tinker.ServiceClient()
assert go_on(ready(elsewhere.create_training_client_from_state_with_optimizer(path))) == straight

loaded = training_client(service, rank=4)
loaded.load_state_with_optimizer(path).result()
assert go_on(loaded) == straight, "load_state_with_optimizer: other bits"

training.save_state("three", overwrite=True).result()

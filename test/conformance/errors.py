# SPDX-License-Identifier: Apache-2.0
"""What is wrong is refused soon, with the exception that the SDK documents for it."""

import math

from common import *
from tinker import BadRequestError, NotFoundError, RequestFailedError

service = tinker.ServiceClient()
rest = service.create_rest_client()
training = training_client(service, rank=4)
good = next_token_datum([1, 2, 3])


def inputs(**tensors):
    return types.Datum(model_input=types.ModelInput.from_ints([1, 2]), loss_fn_inputs=tensors)


targets, ones = tensor([2, 3], "int64"), tensor([1, 1])

# a session's first calls
expect_error(BadRequestError, lambda: training_client(service, base_model="no/such-model"),
             says="no/such-model")
expect_error(BadRequestError, lambda: training_client(service, rank=3), says="power of 2")
expect_error(BadRequestError, lambda: training_client(service, rank=0), says="positive")
expect_error(BadRequestError, lambda: sampling_client(service, base_model="no/such-model"))
expect_error(NotFoundError,
             lambda: sampling_client(service, model_path="tinker://no-run/sampler_weights/x"))
expect_error(ValueError, lambda: sampling_client(service, model_path="no path"))
expect_error(NotFoundError,
             lambda: ready(service.create_training_client_from_state("tinker://no-run/weights/x")))

# losses and their inputs; a refused operation leaves no hole behind it
for name, datum, config, says in [
    ("no_such_loss", good, None, "no_such_loss"),
    ("cross_entropy", inputs(weights=ones), None, "target_tokens"),
    ("cross_entropy", inputs(target_tokens=targets, weights=tensor([1])), None, "weights"),
    ("cross_entropy", inputs(target_tokens=tensor([2, 999999], "int64"), weights=ones), None,
     "999999"),
    ("cross_entropy", inputs(target_tokens=targets, weights=ones, mask=ones), None, "mask"),
    ("cross_entropy", inputs(target_tokens=targets, weights=tensor([1, math.nan])), None,
     "weights"),
    ("ppo", inputs(target_tokens=targets, logprobs=ones), None, "advantages"),
    ("ppo", inputs(target_tokens=targets, logprobs=ones, advantages=ones), {"no_such_key": 1.0},
     "no_such_key"),
    ("cross_entropy", next_token_datum([5] * 600), None, None),  # longer than the model's context
]:
    def call():
        training.forward_backward([datum], name, config).result()
    expect_error((BadRequestError, tinker.UnprocessableEntityError, RequestFailedError), call,
                 says=says)
assert step(training, [good]).metrics["loss:sum"] > 0, "training does not go on behind refusals"

# samples
sampler = sampling_client(service, base_model=BASE_MODEL)
prompt = types.ModelInput.from_ints([1, 2, 3])
for ids, params in [
    ([], {}),
    ([1, 999999], {}),
    ([1], {"max_tokens": 100000}),
    ([1], {"max_tokens": 0}),
    ([1], {"temperature": -1.0}),
    ([1], {"top_p": 2.0}),
]:
    arguments = types.SamplingParams(**{"max_tokens": 4, **params})
    expect_error((BadRequestError, RequestFailedError),
                 lambda: sampler.sample(types.ModelInput.from_ints(ids), 1, arguments).result())
assert sampler.sample(prompt, 1, types.SamplingParams(max_tokens=2)).result().sequences

# checkpoints
path = training.save_state("one").result().path
expect_error((BadRequestError, RequestFailedError),
             lambda: training.save_state("../up").result(), says="name")
expect_error(NotFoundError, lambda: rest.get_training_run("no-run").result())
expect_error(NotFoundError,
             lambda: rest.delete_checkpoint_from_tinker_path(path + "x").result())
expect_error(NotFoundError,
             lambda: rest.publish_checkpoint_from_tinker_path(path + "x").result())
expect_error(BadRequestError,
             lambda: rest.set_checkpoint_ttl_from_tinker_path(path, -5).result(), says="ttl_seconds")
expect_error(BadRequestError, lambda: sampling_client(service, model_path=path),
             says="sampler_weights")
expect_error(NotFoundError, lambda: rest.get_session("no-session").result())

# a checkpoint whose time is over is gone
short = training.save_state("short", ttl_seconds=1).result().path
deadline = time.monotonic() + 20
while any(x.tinker_path == short for x in rest.list_checkpoints(training.model_id).result().checkpoints):
    assert time.monotonic() < deadline, "a checkpoint outlives its time to live"
expect_error(NotFoundError, lambda: ready(service.create_training_client_from_state(short)))

# SPDX-License-Identifier: Apache-2.0
"""What the programs here share.

Each program is a client as users write them, with the official SDK alone. `run.py` starts a server
and sets TINKER_BASE_URL and TINKER_API_KEY; a program that ends with status 0 has passed.
"""

import logging
import sys
import time
import warnings

warnings.simplefilter("ignore")  # newer releases deprecate calls that older ones need

import tinker  # noqa: E402
from tinker import types  # noqa: E402

logging.getLogger("tinker").setLevel(logging.ERROR)

CANNOT_RUN = 77
BASE_MODEL = "tinkaf/tiny"


def cannot_run(reason):
    """Ends a program that lacks something here."""
    print(f"cannot run: {reason}")
    sys.exit(CANNOT_RUN)


def need_torch():
    try:
        import torch
    except ImportError:
        cannot_run("there is no PyTorch; `./dev setup conformance` installs it")
    torch.set_num_threads(1)
    return torch


def has_release(*numbers):
    """Whether the SDK is of at least this release, e.g. `has_release(0, 38)`."""
    return tuple(int(x) for x in tinker.__version__.split(".")[: len(numbers)]) >= numbers


def ready(value):
    """A client: newer releases give it as a future."""
    return value.result() if hasattr(value, "result") else value


def training_client(service, **options):
    options.setdefault("base_model", BASE_MODEL)
    options.setdefault("rank", 8)
    return ready(service.create_lora_training_client(**options))


def sampling_client(service, **options):
    return ready(service.create_sampling_client(**options))


def sampler_of(training):
    return ready(training.save_weights_and_get_sampling_client())


def tensor(data, dtype="float32"):
    return types.TensorData(data=list(data), dtype=dtype, shape=[len(data)])


def next_token_datum(tokens, weights=None):
    """Each token but the first is a target of those before it."""
    targets = tokens[1:]
    return types.Datum(
        model_input=types.ModelInput.from_ints(tokens[:-1]),
        loss_fn_inputs={
            "target_tokens": tensor(targets, "int64"),
            "weights": tensor(weights or [1.0] * len(targets)),
        },
    )


def policy_datum(prompt, sampled, logprobs, advantage):
    """A sample with an advantage, laid out as the losses of reinforcement learning want it."""
    head = len(prompt) - 1
    return types.Datum(
        model_input=types.ModelInput.from_ints((prompt + sampled)[:-1]),
        loss_fn_inputs={
            "target_tokens": tensor([0] * head + sampled, "int64"),
            "logprobs": tensor([0.0] * head + logprobs),
            "advantages": tensor([0.0] * head + [advantage] * len(sampled)),
        },
    )


def step(training, data, loss_fn="cross_entropy", rate=1e-2, **options):
    """Submits both halves of a step before it waits for the first, as the SDK advises."""
    passed = training.forward_backward(data, loss_fn, **options)
    moved = training.optim_step(types.AdamParams(learning_rate=rate))
    result = passed.result()
    moved.result()
    return result


def logprobs_of(output):
    return [list(x["logprobs"].data) for x in output.loss_fn_outputs]


def close_to(a, b, tolerance=1e-4):
    return len(a) == len(b) and all(abs(x - y) <= tolerance for x, y in zip(a, b))


def expect_error(kind, call, within=30.0, says=None):
    """The call must raise `kind`, and before a client that retries would have given up."""
    begin = time.monotonic()
    try:
        call()
    except kind as error:
        took = time.monotonic() - begin
        assert took < within, f"{kind.__name__} came after {took:.1f} s only: {error}"
        assert says is None or says in str(error), f"`{says}` is not in: {error}"
        return error
    raise AssertionError(f"{kind.__name__} was not raised")

# SPDX-License-Identifier: Apache-2.0
"""Preferences (DPO) as a loss of the caller's own in PyTorch, by forward_backward_custom."""

from common import *

torch = need_torch()
BETA = 0.5
CHOSEN, REJECTED = [21, 310, 64, 500, 77], [21, 310, 65, 501, 78]

service = tinker.ServiceClient()
training = training_client(service, seed=2)
data = [next_token_datum(x) for x in (CHOSEN, REJECTED)]
reference = [sum(x) for x in logprobs_of(training.forward(data, "cross_entropy").result())]


def preference(_, logprobs):
    margins = [x.sum() - ref for x, ref in zip(logprobs, reference)]
    delta = BETA * (margins[0] - margins[1])
    loss = -torch.nn.functional.logsigmoid(delta)
    return loss, {"margin:mean": float(delta)}


losses, margins = [], []
for _ in range(10):
    passed = training.forward_backward_custom(data, preference)
    result = passed.result()
    training.optim_step(types.AdamParams(learning_rate=5e-3)).result()
    margins.append(result.metrics["margin:mean"])
assert abs(margins[0]) < 1e-3, margins
assert margins[-1] > 1.0, margins

# The step of a custom loss is that of the named one where both mean the same.
named, custom = (training_client(service, seed=9) for _ in range(2))
step(named, data)
custom.forward_backward_custom(data, lambda _, x: (-sum(p.sum() for p in x), {})).result()
custom.optim_step(types.AdamParams(learning_rate=1e-2)).result()
a, b = (logprobs_of(x.forward(data, "cross_entropy").result()) for x in (named, custom))
assert all(close_to(x, y, 1e-5) for x, y in zip(a, b)), (a, b)

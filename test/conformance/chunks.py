# SPDX-License-Identifier: Apache-2.0
"""A batch that the SDK sends in parts, out of order, gives the gradient of the whole."""

from common import *

service = tinker.ServiceClient()
data = [next_token_datum([i % 1000 + 1, 2]) for i in range(1030)]  # 1024 go into a part

whole = training_client(service, seed=3)
result = step(whole, data)
assert len(result.loss_fn_outputs) == len(data)

halves = training_client(service, seed=3)
halves.forward_backward(data[:500], "cross_entropy")
halves.forward_backward(data[500:], "cross_entropy")
halves.optim_step(types.AdamParams(learning_rate=1e-2)).result()

first, second = (logprobs_of(x.forward(data[:8], "cross_entropy").result()) for x in (whole, halves))
for a, b in zip(first, second):
    assert close_to(a, b), (a, b)

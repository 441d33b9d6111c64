# SPDX-License-Identifier: Apache-2.0
"""Hundreds of calls at once: samples, several models, asyncio and threads."""

import asyncio
import concurrent.futures

from common import *

service = tinker.ServiceClient()
sampler = sampling_client(service, base_model=BASE_MODEL)
params = types.SamplingParams(max_tokens=2, seed=4)
prompts = [types.ModelInput.from_ints([1 + i % 7, 2, 3]) for i in range(300)]
drawn = [x.result() for x in [sampler.sample(p, 1, params) for p in prompts]]
for i, result in enumerate(drawn):
    assert list(result.sequences[0].tokens) == list(drawn[i % 7].sequences[0].tokens), i


def train(seed):
    training = training_client(service, seed=seed)
    data = [next_token_datum([seed + 1, 50, 60, 70])]
    calls = []
    for _ in range(5):  # all under way before the first is waited for
        calls.append(training.forward_backward(data, "cross_entropy"))
        training.optim_step(types.AdamParams(learning_rate=1e-2))
    return [x.result().metrics["loss:sum"] for x in calls]


with concurrent.futures.ThreadPoolExecutor(4) as pool:
    together = list(pool.map(train, [1, 2, 3, 4]))
alone = [train(x) for x in [1, 2, 3, 4]]
assert together == alone, "models that train side by side disturb each other"
assert all(x[-1] < x[0] for x in alone)


async def gathered():
    return await asyncio.gather(*(sampler.sample_async(p, 1, params) for p in prompts[:100]))


for result, before in zip(asyncio.run(gathered()), drawn):
    assert list(result.sequences[0].tokens) == list(before.sequences[0].tokens)

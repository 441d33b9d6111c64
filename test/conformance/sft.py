# SPDX-License-Identifier: Apache-2.0
"""Supervised fine-tuning to a falling loss; the trained weights say what they were taught."""

from common import *

SENTENCES = [[17, 300, 45, 700, 12, 91, 400, 8], [17, 301, 46, 701, 13, 92, 401, 9]]

service = tinker.ServiceClient()
training = training_client(service, seed=1)
data = [next_token_datum(x) for x in SENTENCES]

losses = []
for _ in range(20):
    result = step(training, data)
    losses.append(result.metrics["loss:sum"])
    computed = -sum(sum(x) for x in logprobs_of(result))
    assert abs(losses[-1] - computed) < 1e-3, (losses[-1], computed)
assert losses[-1] < 0.2 * losses[0], losses

untouched = training.forward(data, "cross_entropy").result()
again = training.forward(data, "cross_entropy").result()
assert logprobs_of(untouched) == logprobs_of(again), "a forward pass changed the model"

sampler = sampler_of(training)
greedy = types.SamplingParams(max_tokens=6, temperature=0.0)
drawn = sampler.sample(types.ModelInput.from_ints(SENTENCES[0][:2]), 1, greedy).result()
assert list(drawn.sequences[0].tokens) == SENTENCES[0][2:], drawn.sequences[0].tokens

# SPDX-License-Identifier: Apache-2.0
"""Every option of a sample, and the log probabilities of prompts."""

import math

from common import *

service = tinker.ServiceClient()
sampler = sampling_client(service, base_model=BASE_MODEL)
PROMPT = [40, 500, 61, 333, 7, 250]
prompt = types.ModelInput.from_ints(PROMPT)


def draw(count=1, **params):
    params.setdefault("max_tokens", 12)
    return sampler.sample(prompt, count, types.SamplingParams(**params)).result().sequences


def tokens(sequences):
    return [list(x.tokens) for x in sequences]


# num_samples, max_tokens, seed
four = draw(4, seed=11)
assert len(four) == 4 and all(len(x.tokens) <= 12 for x in four)
assert len({tuple(x) for x in tokens(four)}) > 1, "samples of one request are alike"
assert all(len(x.logprobs) == len(x.tokens) for x in four)
assert all(p <= 0 for x in four for p in x.logprobs)
assert tokens(draw(4, seed=11)) == tokens(four), "the same seed gave other tokens"
assert tokens(draw(4, seed=12)) != tokens(four)
assert tokens(draw(4)) != tokens(draw(4)), "without a seed two requests are alike"

# temperature
greedy = draw(temperature=0.0)[0]
assert tokens(draw(3, temperature=0.0)) == 3 * [list(greedy.tokens)]

# top_k and top_p: the narrowest choice is the greedy one
assert tokens(draw(temperature=1.0, top_k=1)) == [list(greedy.tokens)]
assert tokens(draw(temperature=1.0, top_p=1e-6)) == [list(greedy.tokens)]
best = sampler.sample(
    types.ModelInput.from_ints(PROMPT + [list(greedy.tokens)[0]]),
    1,
    types.SamplingParams(max_tokens=1),
    topk_prompt_logprobs=3,
).result()
three = [x[0] for x in best.topk_prompt_logprobs[-1]]
firsts = {x.tokens[0] for x in draw(60, top_k=3, max_tokens=1, seed=1)}
assert firsts <= set(three) and len(firsts) > 1, (firsts, three)

# stop tokens and strings: what stops is part of the sample
stopping = list(greedy.tokens)[3]
end = list(greedy.tokens).index(stopping) + 1
stopped = draw(temperature=0.0, stop=[stopping])[0]
assert stopped.stop_reason == "stop", stopped
assert list(stopped.tokens) == list(greedy.tokens)[:end]
unstopped = draw(temperature=0.0, max_tokens=3)[0]
assert unstopped.stop_reason == "length" and len(unstopped.tokens) == 3
many = draw(8, stop=" ", max_tokens=40, seed=3)
assert all(x.stop_reason == "stop" or len(x.tokens) == 40 for x in many)
assert any(x.stop_reason == "stop" for x in many), "no sample came to a blank"
assert tokens(draw(8, stop=[" ", "\n"], max_tokens=40, seed=3)) != []

# prompt_logprobs: one for each token but the first, as compute_logprobs tells them
scored = sampler.sample(
    prompt, 1, types.SamplingParams(max_tokens=1), include_prompt_logprobs=True
).result()
assert len(scored.prompt_logprobs) == len(PROMPT) and scored.prompt_logprobs[0] is None
computed = sampler.compute_logprobs(prompt).result()
assert computed[0] is None and close_to(computed[1:], scored.prompt_logprobs[1:], 1e-5)
training = training_client(service)
forward = training.forward([next_token_datum(PROMPT)], "cross_entropy").result()
assert close_to(computed[1:], logprobs_of(forward)[0]), "training and sampling disagree"

# topk_prompt_logprobs: the likeliest tokens at each position, the best first
table = sampler.sample(
    prompt,
    1,
    types.SamplingParams(max_tokens=1),
    include_prompt_logprobs=True,
    topk_prompt_logprobs=5,
).result()
rows = table.topk_prompt_logprobs
assert len(rows) == len(PROMPT) and rows[0] is None
for row, token, logprob in zip(rows[1:], PROMPT[1:], table.prompt_logprobs[1:]):
    values = [x for _, x in row]
    assert len(row) == 5 and values == sorted(values, reverse=True)
    assert sum(math.exp(x) for x in values) <= 1.0 + 1e-4
    assert dict(row).get(token, logprob) == logprob or abs(dict(row)[token] - logprob) < 1e-5

# The probabilities of a sample are those that its continuation has as a prompt.
whole = PROMPT + list(greedy.tokens)
again = sampler.compute_logprobs(types.ModelInput.from_ints(whole)).result()
assert close_to(again[len(PROMPT) :], list(greedy.logprobs)), "a sample and its prompt disagree"

if has_release(0, 38):
    # Newer clients know each sequence by an id.
    ids = [x.sequence_id for x in draw(3)]
    assert len(set(ids)) == 3 and all(ids), ids
    # What the server does not have is refused, not left out.
    for option in [
        {"prompt_logprobs_last_n": 2},
        {"topk_sample_logprobs": 2},
        {"prompt_alt_tokens_k": 2},
        {"target_prompt_logprobs": types.TensorData(data=[1] * 5, dtype="int64", shape=[5, 1])},
    ]:
        (name,) = option
        expect_error(
            tinker.BadRequestError,
            lambda: sampler.sample(
                prompt, 1, types.SamplingParams(max_tokens=1), include_prompt_logprobs=True, **option
            ).result(),
            says=name,
        )

# The tokenizer comes from where the server says.
tokenizer = training.get_tokenizer()
assert tokenizer.decode(tokenizer.encode("naïve 日本")) == "naïve 日本"

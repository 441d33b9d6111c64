# SPDX-License-Identifier: Apache-2.0
"""Reinforcement learning: each loss raises the reward of a policy that is asked for one token."""

import math

from common import *

PROMPT = [11, 200, 35]
WANTED = range(512, 1024)  # half of the vocabulary, rare at first
LOSSES = {
    "importance_sampling": None,
    "ppo": {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2},
    "cispo": {"clip_low_threshold": 0.8, "clip_high_threshold": 1.2},
    "dro": {"beta": 0.05},
}


def rollouts(sampler, seed):
    params = types.SamplingParams(max_tokens=4, temperature=1.0, seed=seed)
    return sampler.sample(types.ModelInput.from_ints(PROMPT), 24, params).result().sequences


def reward(sequence):
    return sum(x in WANTED for x in sequence.tokens) / len(sequence.tokens)


def token_loss(loss_fn, config, new, old, advantage):
    ratio = math.exp(new - old)
    if loss_fn == "importance_sampling":
        return -ratio * advantage
    if loss_fn == "dro":
        return -(new * advantage - 0.5 * config["beta"] * (new - old) ** 2)
    clipped = min(max(ratio, config["clip_low_threshold"]), config["clip_high_threshold"])
    if loss_fn == "ppo":
        return -min(ratio * advantage, clipped * advantage)
    return -clipped * new * advantage


def check_loss(loss_fn, config, data, result):
    expected = 0.0
    for datum, out in zip(data, logprobs_of(result)):
        inputs = datum.loss_fn_inputs
        for new, old, advantage in zip(out, inputs["logprobs"].data, inputs["advantages"].data):
            expected += token_loss(loss_fn, config, new, old, advantage)
    got = result.metrics["loss:sum"]
    assert abs(got - expected) < 1e-3 * max(1.0, abs(expected)), (loss_fn, got, expected)


service = tinker.ServiceClient()
for loss_fn, config in LOSSES.items():
    training = training_client(service, seed=5)
    means = []
    for round_ in range(8):
        sequences = rollouts(sampler_of(training), seed=round_)
        rewards = [reward(x) for x in sequences]
        means.append(sum(rewards) / len(rewards))
        # The first token is where dro, which has no mask, would see the prompt: leave it out.
        data = [
            policy_datum(PROMPT[-1:], list(x.tokens), list(x.logprobs), r - means[-1])
            if loss_fn == "dro"
            else policy_datum(PROMPT, list(x.tokens), list(x.logprobs), r - means[-1])
            for x, r in zip(sequences, rewards)
        ]
        result = step(training, data, loss_fn, rate=5e-3, loss_fn_config=config)
        check_loss(loss_fn, config, data, result)
    assert sum(means[-2:]) / 2 > means[0] + 0.15, (loss_fn, means)

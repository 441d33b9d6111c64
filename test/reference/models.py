# SPDX-License-Identifier: Apache-2.0
"""Small random Llama and Qwen3 checkpoints: our logits, log-probabilities and gradients against
those of transformers with PyTorch, and our greedy continuation against theirs."""

import json
import pathlib
import tempfile

import numpy
import torch
import transformers
from safetensors.numpy import load_file, save_file

from harness import close

transformers.utils.logging.disable_progress_bar()

LIMIT = 1e-4
ALPHA = 32
RANK = 4
VOCAB = 320

LLAMA3_ROPE = {
    "rope_type": "llama3",
    "rope_theta": 500000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}

COMMON = dict(
    vocab_size=VOCAB,
    num_hidden_layers=3,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=512,
    bos_token_id=0,
    eos_token_id=None,
    attention_bias=False,
)

CASES = {
    "Llama": ("llama", dict(hidden_size=64, intermediate_size=112, tie_word_embeddings=False)),
    "Llama, tied head, scaled rotation, bfloat16 in shards": (
        "llama",
        dict(hidden_size=64, intermediate_size=96, tie_word_embeddings=True, head_dim=16,
             rope=LLAMA3_ROPE, dtype=torch.bfloat16, shard="60KB"),
    ),
    "Llama, float16": (
        "llama",
        dict(hidden_size=48, intermediate_size=80, tie_word_embeddings=False,
             dtype=torch.float16),
    ),
    "Qwen3, heads wider than the stream": (
        "qwen3",
        dict(hidden_size=48, intermediate_size=80, head_dim=32, tie_word_embeddings=True,
             use_sliding_window=False),
    ),
    "Qwen3, bfloat16 in shards": (
        "qwen3",
        dict(hidden_size=64, intermediate_size=96, head_dim=32, tie_word_embeddings=False,
             use_sliding_window=False, dtype=torch.bfloat16, shard="60KB"),
    ),
}


def byte_tokenizer():
    """A vocabulary of the 256 bytes, in the format of tokenizer.json."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    out = Tokenizer(models.BPE(vocab={x: i for i, x in enumerate(alphabet)}, merges=[]))
    out.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    out.decoder = decoders.ByteLevel()
    return out


def make_model(kind, options, folder):
    """Writes a checkpoint and returns the model in double precision."""
    options = dict(COMMON, **options)
    dtype = options.pop("dtype", torch.float32)
    shard = options.pop("shard", "5GB")
    rope = options.pop("rope", None)
    if rope is not None:
        options["rope_parameters"] = rope
    kinds = {
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
    }
    make_config, make = kinds[kind]
    torch.manual_seed(11)
    model = make(make_config(**options))
    with torch.no_grad():
        for name, x in model.named_parameters():
            # Larger than usual, so that attention and gates are far from linear.
            scale = 0.1 if "norm" in name else 1.5 / x.shape[-1] ** 0.5
            x.copy_(torch.randn_like(x) * scale + (1.0 if "norm" in name else 0.0))
    model.to(dtype).save_pretrained(folder, max_shard_size=shard)
    byte_tokenizer().save(str(folder / "tokenizer.json"))
    # Read again, as `to` rounds the table of the rotation too.
    return make.from_pretrained(folder, dtype=torch.float32).double().eval()


def linears_of(model):
    """The adapted maps by our names for them."""
    out = {}
    for i, layer in enumerate(model.model.layers):
        for part, names in (("self_attn", ("q_proj", "k_proj", "v_proj", "o_proj")),
                            ("mlp", ("gate_proj", "up_proj", "down_proj"))):
            for name in names:
                out[f"model.layers.{i}.{part}.{name}"] = getattr(getattr(layer, part), name)
    out["model.unembed_tokens"] = model.lm_head
    return out


def make_adapter(model, folder):
    """Writes an adapter in PEFT's layout, puts it on the model, and returns its tensors."""
    generator = numpy.random.default_rng(5)
    tensors = {}
    for name, linear in linears_of(model).items():
        out_features, in_features = linear.weight.shape
        tensors[f"{name}.lora_A.weight"] = 0.1 * generator.standard_normal((RANK, in_features))
        tensors[f"{name}.lora_B.weight"] = 0.1 * generator.standard_normal((out_features, RANK))
    tensors = {name: x.astype(numpy.float32) for name, x in tensors.items()}
    folder.mkdir()
    save_file({f"base_model.model.{k}": v for k, v in tensors.items()},
              folder / "adapter_model.safetensors")
    modules = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj",
               "unembed_tokens"]
    config = {"peft_type": "LORA", "base_model_name_or_path": "reference", "r": RANK,
              "lora_alpha": ALPHA, "target_modules": modules}
    (folder / "adapter_config.json").write_text(json.dumps(config))

    parameters = {k: torch.tensor(v, dtype=torch.float64, requires_grad=True)
                  for k, v in tensors.items()}
    for name, linear in linears_of(model).items():
        a = parameters[f"{name}.lora_A.weight"]
        b = parameters[f"{name}.lora_B.weight"]

        def forward(x, weight=linear.weight.detach(), a=a, b=b):
            return x @ weight.T + (ALPHA / RANK) * ((x @ a.T) @ b.T)

        linear.forward = forward
    return parameters


def write_tokens(file, tokens):
    file.write_text(" ".join(map(str, tokens)))
    return file


def compare(probe, kind, options):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        model = make_model(kind, options, folder / "model")
        tokens = numpy.random.default_rng(3).integers(0, VOCAB, 150).tolist()
        file = write_tokens(folder / "tokens", tokens)

        prompt = torch.tensor([tokens[:20]])
        length = 40
        theirs = prompt
        with torch.no_grad():
            for _ in range(length):
                next_token = model(theirs).logits[:, -1].argmax(-1, keepdim=True)
                theirs = torch.cat([theirs, next_token], 1)
        ours = probe("greedy", folder / "model", write_tokens(folder / "prompt", tokens[:20]),
                     length)
        if list(map(int, ours.split())) != theirs[0, 20:].tolist():
            raise AssertionError(f"greedy: {ours}, expected {theirs[0, 20:].tolist()}")

        parameters = make_adapter(model, folder / "adapter")
        logits = model(torch.tensor([tokens[:-1]])).logits[0]
        logprobs = torch.log_softmax(logits, -1)
        logprobs = logprobs.gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
        (-logprobs.sum()).backward()

        probe("model", folder / "model", folder / "adapter", file, folder / "out.safetensors")
        found = load_file(folder / "out.safetensors")
        worst = close("logits", found.pop("logits"), logits.detach(), LIMIT)
        worst = max(worst, close("logprobs", found.pop("logprobs"), logprobs.detach(), LIMIT))
        if set(found) != set(parameters):
            raise AssertionError(f"gradients of {set(found) ^ set(parameters)}")
        for tensor, gradient in found.items():
            worst = max(worst, close(tensor, gradient, parameters[tensor].grad, LIMIT))
        return f"within {worst:.1e}"


def run(report, probe):
    for name, (kind, options) in CASES.items():
        report.check(name, compare, probe, kind, options)

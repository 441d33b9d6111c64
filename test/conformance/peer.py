#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our client against SkyRL's server: JAX on the CPU, with the shipped model in float32.

Installs SkyRL with pip in an environment below --work, which takes about 6 GB (its requirements
bring PyTorch with CUDA) and wants Python 3.12 or later. Starts it as its documentation says, by
`uv run`, beside `tinkaf serve`; compares losses, and trains on it with `tinkaf train sft`.

Exit status: 0 equal; 1 not; 75 SkyRL could not be installed.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import run

RELEASE = "skyrl[tinker,jax]==0.4.0"
ALSO = ["aiohttp", "uv"]  # the first is missing in its requirements
START_LIMIT = 120  # seconds
PROJECT = """[project]
name = "peer"
version = "0"
requires-python = ">=3.12"
[project.optional-dependencies]
tinker = []
jax = []
"""


def suitable_python(wanted):
    """A Python that SkyRL takes; not every one that is on the path also runs."""
    usual = [sys.executable, "python3.13", "python3.12", "python3.14", "python3"]
    for name in [wanted] if wanted else usual:
        asked = "import sys, venv, ensurepip; sys.exit(not (3, 12) <= sys.version_info[:2] < (3, 15))"
        with contextlib.suppress(OSError):
            if subprocess.run([name, "-c", asked], capture_output=True).returncode == 0:
                return name
    raise RuntimeError("it wants Python 3.12 or later with venv; name one with --python")


def install(folder, wanted):
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([suitable_python(wanted), "-m", "venv", "--clear", folder], check=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    done = subprocess.run(pip + [RELEASE, *ALSO], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["pip said nothing"])[-1])


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def float32_model(shipped, folder):
    """SkyRL computes in the type that the configuration names."""
    shutil.copytree(shipped, folder)
    config = json.loads((folder / "config.json").read_text())
    config["torch_dtype"] = "float32"
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@contextlib.contextmanager
def skyrl(environment, model, folder, log):
    (folder / "pyproject.toml").write_text(PROJECT)
    port = free_port()
    command = [environment / "bin" / "uv", "run", "--active", "--no-sync", "--offline"]
    command += ["-m", "skyrl.tinker.api", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--base-model", model, "--backend", "jax"]
    command += ["--backend-config", json.dumps({"max_lora_adapters": 16, "max_lora_rank": 8})]
    command += ["--checkpoints-base", folder / "checkpoints"]
    command += ["--database-url", f"sqlite:///{folder}/skyrl.db"]
    env = run.without_proxies() | {
        "VIRTUAL_ENV": str(environment),
        "PATH": f"{environment}/bin:{os.environ['PATH']}",
        "JAX_PLATFORMS": "cpu",
        "HF_HUB_OFFLINE": "1",
    }
    process = subprocess.Popen(
        command, cwd=folder, env=env, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
    )
    try:
        address = f"http://127.0.0.1:{port}"
        wait_for(f"{address}/api/v1/healthz", process)
        yield address
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, 15)
        process.wait()


def wait_for(url, process):
    deadline = time.monotonic() + START_LIMIT
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(urllib.error.URLError, OSError):
            urllib.request.urlopen(url, timeout=2).close()
            return
        time.sleep(0.2)
    raise RuntimeError("SkyRL's server does not answer; see the log")


def sft(program, address, model, tokenizer, rows, steps, out):
    """Trains on all rows at each step; the losses, and the seconds of the whole program."""
    data = out.with_suffix(".jsonl")
    data.write_text("".join(json.dumps(x) + "\n" for x in rows))
    command = [program, "train", "sft", "--data", data, "--steps", steps, "--batch", len(rows)]
    command += ["--lr", "0.002", "--lora-rank", "8", "--out", out, "--save-every", "0"]
    command += ["--base-url", address, "--model", model, "--tokenizer", tokenizer]
    begin = time.monotonic()
    subprocess.run(
        list(map(str, command)),
        check=True,
        env=run.without_proxies(),
        stdout=subprocess.DEVNULL,
        timeout=600,
    )
    seconds = time.monotonic() - begin
    lines = (out / "metrics.jsonl").read_text().splitlines()
    return [json.loads(x)["train_mean_nll"] for x in lines], seconds


def train(program, address, model, folder):
    """The loss of the first and the last of a few steps."""
    rows = [{"prompt": "hello", "completion": " world"}, {"prompt": "a", "completion": " b"}]
    tokenizer = pathlib.Path(model) / "tokenizer.json"
    losses, _ = sft(program, address, model, tokenizer, rows, 5, folder / "out")
    return losses[0], losses[-1]


def seconds_per_step(program, address, model, tokenizer, folder):
    """Of a batch that is the same at each step, so that JAX compiles once, ahead of what counts."""
    words = "every lamp of the harbour is lit before the last boat comes home "
    rows = [{"prompt": f"{i} ", "completion": words * 8} for i in range(8)]
    few, many = 2, 22
    times = {}
    for name, steps in (("warm", few), ("few", few), ("many", many)):
        _, times[name] = sft(program, address, model, tokenizer, rows, steps, folder / name)
    return (times["many"] - times["few"]) / (many - few)


def compare_speed(program, sides, tokenizer, folder):
    """Three times in turns; what is told is the median."""
    ratios = []
    for round in range(3):
        taken = []
        for number, (address, model) in enumerate(sides):
            here = folder / f"speed-{round}-{number}"
            here.mkdir()
            taken.append(seconds_per_step(program, address, model, tokenizer, here))
        ratios.append(taken[1] / taken[0])
        run.say(f"  a step: {taken[0] * 1e3:.0f} ms here, {taken[1] * 1e3:.0f} ms there")
    run.say(f"  {sorted(ratios)[1]:.2f} times as fast as SkyRL with JAX on the CPU")


def main():
    parser = argparse.ArgumentParser(description="compare our client's losses on two servers")
    parser.add_argument("--build", required=True, type=pathlib.Path)
    parser.add_argument("--models", required=True, type=pathlib.Path)
    parser.add_argument("--work", required=True, type=pathlib.Path)
    parser.add_argument("--python", help="3.12 or later, for SkyRL")
    parser.add_argument("--speed", action="store_true", help="also time steps on both")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    program = arguments.build / "cli" / "tinkaf"
    environment = (arguments.work / "skyrl").resolve()
    try:
        install(environment, arguments.python)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        run.say(f"!!! NOT RUN: SkyRL cannot be installed: {error}")
        return run.NOT_INSTALLED
    log_name = arguments.work / "skyrl.log"
    with tempfile.TemporaryDirectory(prefix="tinkaf-peer-") as folder, open(log_name, "w") as log:
        folder = pathlib.Path(folder)
        model = float32_model(arguments.models / "tiny", folder / "model")
        server = run.Server(program, log)
        try:
            with skyrl(environment, model, folder, log) as peer:
                run.say(f"{RELEASE}: loss here, loss there")
                compare = arguments.build / "test" / "conformance" / "tinkaf_peer_losses"
                sides = [server.address, "tinkaf/tiny", peer, model]
                same = subprocess.run([compare, *sides], env=run.without_proxies()).returncode == 0
                first, last = train(program, peer, model, folder)
                if arguments.speed:
                    tokenizer = model / "tokenizer.json"
                    both = [(server.address, "tinkaf/tiny"), (peer, model)]
                    compare_speed(program, both, tokenizer, folder)
        finally:
            server.close()
    falls = last < 0.8 * first
    run.say(f"  tinkaf train sft: {first:.4f} -> {last:.4f} {'falls' if falls else 'DOES NOT FALL'}")
    passed = same + falls
    run.say(f"{passed} passed, {2 - passed} failed")
    return 0 if passed == 2 else 1


if __name__ == "__main__":
    sys.exit(main())

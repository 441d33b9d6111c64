# SPDX-License-Identifier: Apache-2.0
"""The SDK's command line: runs and checkpoints, shown, changed, downloaded, removed."""

import json
import pathlib
import subprocess
import tempfile

from common import *

TINKER = str(pathlib.Path(sys.executable).parent / "tinker")


def shell(*arguments, status=0):
    done = subprocess.run([TINKER, *arguments], capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    assert done.returncode == status, f"tinker {' '.join(arguments)}: {done.returncode}\n{said}"
    return done.stdout if status == 0 else said


def parsed(*arguments):
    return json.loads(shell("--format", "json", *arguments))


service = tinker.ServiceClient()
training = training_client(service, rank=4)
step(training, [next_token_datum([3, 4, 5])])
state = training.save_state("one").result().path
sampler = training.save_weights_for_sampler("one").result().path
run_id = training.model_id

assert shell("version").strip() == f"tinker {tinker.__version__}"

runs = parsed("run", "list", "--limit", "0")["runs"]
assert any(run_id in str(x) for x in runs), runs
assert BASE_MODEL in shell("run", "info", run_id)

found = parsed("checkpoint", "list", "--run-id", run_id)["checkpoints"]
assert {x["tinker_path"] for x in found} == {state, sampler}, found
assert "one" in shell("checkpoint", "list")
assert parsed("checkpoint", "info", state)["lora_rank"] == 4

shell("checkpoint", "publish", sampler)
assert parsed("checkpoint", "info", sampler)["public"]
shell("checkpoint", "set-ttl", state, "--ttl", "7200")
assert parsed("checkpoint", "info", state)["expires_at"]
shell("checkpoint", "unpublish", sampler)
shell("checkpoint", "set-ttl", state, "--remove")
listed = parsed("checkpoint", "list", "--run-id", run_id)["checkpoints"]
assert not any(x["public"] or x.get("expires_at") for x in listed), listed

if not has_release(0, 38):
    with tempfile.TemporaryDirectory() as folder:
        shell("checkpoint", "download", sampler, "-o", folder)
        files = {x.name for x in pathlib.Path(folder).rglob("*")}
        assert {"adapter_config.json", "adapter_model.safetensors"} <= files, files

shell("checkpoint", "delete", "-y", state)
left = parsed("checkpoint", "list", "--run-id", run_id)["checkpoints"]
assert [x["tinker_path"] for x in left] == [sampler], left
said = shell("run", "info", "no-run", status=1)
assert "not found" in said.lower(), said

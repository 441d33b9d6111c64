# SPDX-License-Identifier: Apache-2.0
"""Runs, checkpoints, sessions and samplers over REST; a download in the PEFT layout."""

import datetime
import io
import json
import struct
import tarfile
import urllib.request

from common import *

service = tinker.ServiceClient(user_metadata={"who": "conformance"})
rest = service.create_rest_client()
training = training_client(service, rank=4, user_metadata={"purpose": "rest"})
step(training, [next_token_datum([3, 4, 5])])
state = training.save_state("one").result().path
kept = training.save_state("kept", ttl_seconds=7200).result().path
sampler_path = training.save_weights_for_sampler("one").result().path
sampler = sampling_client(service, model_path=sampler_path)
run_id = training.model_id
session_id = run_id.split(":train:")[0]

# runs
run = rest.get_training_run(run_id).result()
assert run.base_model == BASE_MODEL and run.is_lora and run.lora_rank == 4 and not run.corrupted
assert run.user_metadata == {"purpose": "rest"}, run.user_metadata
assert run.last_checkpoint.tinker_path == kept
assert run.last_sampler_checkpoint.tinker_path == sampler_path
assert rest.get_training_run_by_tinker_path(state).result().training_run_id == run_id
page = rest.list_training_runs(limit=1, offset=0).result()
assert len(page.training_runs) == 1 and page.cursor.total_count >= 1
assert page.training_runs[0].training_run_id == run_id, "newest activity comes first"

# checkpoints
listed = rest.list_checkpoints(run_id).result().checkpoints
assert {x.tinker_path for x in listed} == {state, kept, sampler_path}
by_path = {x.tinker_path: x for x in listed}
assert by_path[state].checkpoint_id == "weights/one"
assert by_path[state].checkpoint_type == "training" and by_path[state].size_bytes > 0
assert by_path[sampler_path].checkpoint_type == "sampler"
assert not by_path[state].public and by_path[state].expires_at is None
now = datetime.datetime.now(datetime.timezone.utc)
assert 7000 < (by_path[kept].expires_at - now).total_seconds() <= 7200
if has_release(0, 38):
    noted = training.save_state("noted", user_metadata={"by": "us"}).result().path
    listed = rest.list_checkpoints(run_id).result().checkpoints
    assert {x.tinker_path: x.user_metadata for x in listed}[noted] == {"by": "us"}
    rest.delete_checkpoint_from_tinker_path(noted).result()
everything = rest.list_user_checkpoints(limit=3).result()
assert [x.tinker_path for x in everything.checkpoints[:3]] == [sampler_path, kept, state]

# weights_info, samplers, sessions
info = rest.get_weights_info_by_tinker_path(state).result()
assert (info.base_model, info.is_lora, info.lora_rank) == (BASE_MODEL, True, 4)
assert info.train_mlp and info.train_attn and info.train_unembed
assert sampler.get_base_model() == BASE_MODEL
assert session_id in rest.list_sessions(limit=100).result().sessions
session = rest.get_session(session_id).result()
assert session.training_run_ids == [run_id] and len(session.sampler_ids) == 1
shown = rest.get_sampler(session.sampler_ids[0]).result()
assert shown.base_model == BASE_MODEL and shown.model_path == sampler_path

# a project: its runs are listed under it
project = f"project-{session_id}"
rest.assign_session_project(session_id, project).result()
runs = rest.list_training_runs(project_id=project).result().training_runs
assert [x.training_run_id for x in runs] == [run_id]

# time to live
rest.set_checkpoint_ttl_from_tinker_path(kept, None).result()
rest.set_checkpoint_ttl_from_tinker_path(state, 3600).result()
by_path = {x.tinker_path: x for x in rest.list_checkpoints(run_id).result().checkpoints}
assert by_path[kept].expires_at is None and by_path[state].expires_at is not None

# publish
rest.publish_checkpoint_from_tinker_path(sampler_path).result()
by_path = {x.tinker_path: x for x in rest.list_checkpoints(run_id).result().checkpoints}
assert by_path[sampler_path].public and not by_path[state].public
rest.unpublish_checkpoint_from_tinker_path(sampler_path).result()
by_path = {x.tinker_path: x for x in rest.list_checkpoints(run_id).result().checkpoints}
assert not by_path[sampler_path].public

# the archive: an adapter in the layout of PEFT
if has_release(0, 38):
    base, key = service.holder._base_url, {"X-API-Key": "tml-conformance"}
    address = f"{base}/api/v1/training_runs/{run_id}/checkpoints/sampler_weights/one/archive"
    content = urllib.request.urlopen(urllib.request.Request(address, headers=key)).read()
else:
    link = rest.get_checkpoint_archive_url_from_tinker_path(sampler_path).result()
    assert link.expires > now
    content = urllib.request.urlopen(link.url).read()
with tarfile.open(fileobj=io.BytesIO(content)) as tar:
    names = set(tar.getnames())
    assert {"adapter_config.json", "adapter_model.safetensors"} <= names, names
    assert all("/" not in x and ".." not in x for x in names), names
    config = json.load(tar.extractfile("adapter_config.json"))
    weights = tar.extractfile("adapter_model.safetensors").read()
assert (config["peft_type"], config["r"]) == ("LORA", 4)
assert config["base_model_name_or_path"] == BASE_MODEL
(length,) = struct.unpack("<Q", weights[:8])
header = json.loads(weights[8 : 8 + length])
query = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
assert header[query + "A.weight"]["shape"][0] == 4
assert header[query + "B.weight"]["shape"][1] == 4

# deletion
rest.delete_checkpoint_from_tinker_path(state).result()
rest.delete_checkpoint(run_id, "weights/kept").result()
left = [x.tinker_path for x in rest.list_checkpoints(run_id).result().checkpoints]
assert left == [sampler_path], left

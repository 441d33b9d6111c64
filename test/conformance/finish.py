# SPDX-License-Identifier: Apache-2.0
"""Newer releases end a session by themselves: its models go, its checkpoints stay."""

from common import *

if not has_release(0, 38):
    print("this release does not end sessions")
    sys.exit(0)

with tinker.ServiceClient() as service:
    training = training_client(service, rank=4)
    path = training.save_state("last").result().path
    session_id = training.model_id.split(":train:")[0]
    rest = tinker.RestClient()
    assert session_id in rest.list_sessions(limit=100).result().sessions

assert session_id not in rest.list_sessions(limit=100).result().sessions

with tinker.ServiceClient() as later:
    again = ready(later.create_training_client_from_state_with_optimizer(path))
    step(again, [next_token_datum([1, 2, 3])])

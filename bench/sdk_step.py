# SPDX-License-Identifier: Apache-2.0
"""Prints the processor time, in milliseconds, that the official SDK takes for a training step of
128 x 2048 tokens. Arguments: address of the service, number of steps."""

import sys
import time

import numpy
import tinker
from tinker import types

url, steps = sys.argv[1], int(sys.argv[2])
tokens = [t * 31 % 128_000 for t in range(2048)]
targets = numpy.array([(t + 1) * 31 % 128_000 for t in range(2048)], dtype=numpy.int64)
weights = numpy.ones(2048, dtype=numpy.float32)
data = [
    types.Datum(
        model_input=types.ModelInput.from_ints(tokens),
        loss_fn_inputs={
            "target_tokens": types.TensorData.from_numpy(targets),
            "weights": types.TensorData.from_numpy(weights),
        },
    )
    for _ in range(128)
]
service = tinker.ServiceClient(base_url=url, api_key="tml-bench")
training = service.create_lora_training_client(base_model="any", rank=32)
for i in range(steps + 1):
    if i == 1:  # the first step warms up
        begin = time.process_time()
    training_pass = training.forward_backward(data, "cross_entropy")
    step = training.optim_step(types.AdamParams(learning_rate=1e-4))
    training_pass.result()
    step.result()
print((time.process_time() - begin) * 1e3 / steps, flush=True)

# SPDX-License-Identifier: Apache-2.0
"""Several targets for each position, dense and sparse, and negative weights."""

import numpy as np
from common import *

service = tinker.ServiceClient()
training = training_client(service)
prompt = types.ModelInput.from_ints([5, 6, 7])
targets = np.array([[6, 9], [7, 10], [8, 11]], dtype=np.int64)
weights = np.array([[0.75, 0.25], [1.0, 0.0], [0.5, -0.5]], dtype=np.float32)


def flat(array, dtype):
    return types.TensorData(data=array.ravel().tolist(), dtype=dtype, shape=list(array.shape))


def rows(array, dtype):
    """The same as compressed sparse rows."""
    kept = [np.flatnonzero(row) for row in array]
    return types.TensorData(
        data=[array[i, j].item() for i, row in enumerate(kept) for j in row],
        dtype=dtype,
        shape=list(array.shape),
        sparse_crow_indices=np.cumsum([0] + [len(x) for x in kept]).tolist(),
        sparse_col_indices=[int(j) for row in kept for j in row],
    )


def run(target_tensor, weight_tensor):
    datum = types.Datum(
        model_input=prompt,
        loss_fn_inputs={"target_tokens": target_tensor, "weights": weight_tensor},
    )
    return training.forward([datum], "cross_entropy").result()


dense = run(flat(targets, "int64"), flat(weights, "float32"))
out = dense.loss_fn_outputs[0]["logprobs"]
assert out.shape == [3, 2], out.shape
expected = -float((np.array(out.data).reshape(3, 2) * weights).sum())
assert abs(dense.metrics["loss:sum"] - expected) < 1e-4, (dense.metrics, expected)

sparse = run(flat(targets, "int64"), rows(weights, "float32"))
assert abs(sparse.metrics["loss:sum"] - expected) < 1e-4, (sparse.metrics, expected)

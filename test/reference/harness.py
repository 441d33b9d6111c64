# SPDX-License-Identifier: Apache-2.0
"""What the reference programs share: running the probe, counting, comparing."""

import subprocess
import sys
import traceback


class Report:
    """Counts checks; a check is a function that raises when it fails."""

    def __init__(self):
        self.passed = 0
        self.failed = 0

    def check(self, name, function, *arguments):
        try:
            note = function(*arguments)
        except Exception:  # whatever it was, the next check still runs
            self.failed += 1
            print(f"FAILED  {name}")
            traceback.print_exc(file=sys.stdout)
        else:
            self.passed += 1
            print(f"ok      {name}" + (f": {note}" if note else ""))
        sys.stdout.flush()

    def end(self):
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.failed == 0 and self.passed > 0 else 1


class Probe:
    """The program that prints what we compute."""

    def __init__(self, program):
        self.program = program

    def __call__(self, *arguments):
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"the probe failed: {done.stderr.strip()}")
        return done.stdout.strip()


def close(name, ours, theirs, limit):
    """Largest difference in units of the largest expected number (at least 1)."""
    import numpy

    ours = numpy.asarray(ours, dtype=numpy.float64)
    theirs = numpy.asarray(theirs, dtype=numpy.float64)
    if ours.shape != theirs.shape:
        raise AssertionError(f"{name}: shape {ours.shape}, expected {theirs.shape}")
    off = float(numpy.abs(ours - theirs).max())
    size = max(1.0, float(numpy.abs(theirs).max()))
    if not off <= limit * size:
        raise AssertionError(f"{name}: off by {off:.2e}, the largest number being {size:.2e}")
    return off / size

# SPDX-License-Identifier: Apache-2.0
"""Holds our models and tokenizers against the reference implementations; `./dev reference`.

Arguments: the probe, and the parts to run (all if there are none)."""

import importlib
import sys

from harness import Probe, Report

PARTS = ("models", "tokenizers_equal", "smollm2")


def main():
    probe = Probe(sys.argv[1])
    report = Report()
    for part in sys.argv[2:] or PARTS:
        if part not in PARTS:
            print(f"unknown part `{part}`; there are: {', '.join(PARTS)}")
            return 2
        print(f"--- {part}")
        importlib.import_module(part).run(report, probe)
    return report.end()


sys.exit(main())

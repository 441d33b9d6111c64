#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the client programs of this folder, with releases of the official SDK, against `tinkaf serve`.

For each release there is a virtual environment below --work, and a server of its own on a free port
with a fresh state folder. Prints a line for each program and one that counts at the end.

Exit status: 0 all passed; 1 something failed or did not run; 75 no release could be installed.
"""

import argparse
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
NOT_PROGRAMS = {"run", "common", "peer"}
CANNOT_RUN = 77  # as in common.py
NOT_INSTALLED = 75
RELEASES = ["0.25.0", "newest"]
PROGRAM_LIMIT = 600  # seconds

Result = collections.namedtuple("Result", "state reason seconds")


def say(text):
    print(text, flush=True)


def programs(wanted):
    found = sorted(x.stem for x in HERE.glob("*.py") if x.stem not in NOT_PROGRAMS)
    unknown = set(wanted) - set(found)
    if unknown:
        sys.exit(f"no such program: {', '.join(sorted(unknown))}; there are: {', '.join(found)}")
    return wanted or found


def install(release, work):
    """A virtual environment with a release of the SDK: its Python and the release's number.

    Raises RuntimeError with what pip said. The newest one is looked for each time.
    """
    folder = work / f"sdk-{release}"
    python = folder / "bin" / "python"
    if not python.exists():
        # Packages of the system are seen, so that PyTorch need not be fetched for each release.
        subprocess.run(
            [sys.executable, "-m", "venv", "--clear", "--system-site-packages", folder], check=True
        )
    wanted = ["--upgrade", "tinker"] if release == "newest" else [f"tinker=={release}"]
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    done = subprocess.run(pip + wanted, capture_output=True, text=True)
    asked = subprocess.run(
        [python, "-c", "import tinker; print(tinker.__version__)"], capture_output=True, text=True
    )
    if done.returncode != 0 or asked.returncode != 0:
        last = (done.stderr or asked.stderr).strip().splitlines()[-1:] or ["pip said nothing"]
        raise RuntimeError(last[0])
    return python, asked.stdout.strip()


class Server:
    """`tinkaf serve` with a state folder that ends with it."""

    def __init__(self, program, log):
        self.state = tempfile.TemporaryDirectory(prefix="tinkaf-conformance-")
        command = [program, "serve", "--port", "0", "--state", self.state.name]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=log, text=True, env=without_proxies()
        )
        first = self.process.stdout.readline()
        found = re.match(r"listening on (http://\S+)", first)
        if not found:
            self.close()
            sys.exit(f"{program} did not start: {first.strip() or 'see the log'}")
        self.address = found.group(1)

    def close(self):
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.state.cleanup()


def without_proxies():
    """The environment, but nothing that leads requests elsewhere."""
    drop = re.compile(r"(TINKER_|TINKAF_)|(https?|all)_proxy$", re.IGNORECASE)
    return {k: v for k, v in os.environ.items() if not drop.match(k)}


def run_program(name, python, server, log):
    env = without_proxies()
    env |= {
        "TINKER_BASE_URL": server.address,
        "TINKER_API_KEY": "tml-conformance",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_VERBOSITY": "error",
    }
    begin = time.monotonic()
    with open(log, "w+") as out:
        try:
            status = subprocess.run(
                [python, HERE / f"{name}.py"],
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=PROGRAM_LIMIT,
            ).returncode
        except subprocess.TimeoutExpired:
            status = None
    seconds = time.monotonic() - begin
    said = log.read_text(errors="replace").strip().splitlines()
    if status == 0:
        return Result("passed", "", seconds)
    if status == CANNOT_RUN:
        return Result("not run", said[-1] if said else "", seconds)
    reason = f"more than {PROGRAM_LIMIT} s" if status is None else "\n".join(said[-15:])
    return Result("failed", reason, seconds)


def run_release(release, names, arguments):
    results = {}
    try:
        python, version = install(release, arguments.work)
    except (RuntimeError, OSError, subprocess.CalledProcessError) as error:
        for name in names:
            results[name] = Result("not run", f"SDK {release} cannot be installed: {error}", 0)
        return results, False
    say(f"SDK {version}")
    logs = arguments.work / f"logs-{release}"
    logs.mkdir(exist_ok=True)
    with open(logs / "server.log", "w") as server_log:
        server = Server(arguments.server, server_log)
        try:
            for name in names:
                result = run_program(name, python, server, logs / f"{name}.log")
                results[name] = result
                dots = "." * (40 - len(name))
                say(f"  {name} {dots} {result.state} {result.seconds:6.1f} s")
                if result.reason:
                    say("    " + result.reason.replace("\n", "\n    "))
                if server.process.poll() is not None:
                    sys.exit(f"the server ended with status {server.process.returncode}")
        finally:
            server.close()
    return results, True


def main():
    parser = argparse.ArgumentParser(description="run client programs of the official SDK")
    parser.add_argument("--server", required=True, type=pathlib.Path, help="the program `tinkaf`")
    parser.add_argument("--work", required=True, type=pathlib.Path, help="for environments, logs")
    parser.add_argument("--sdk", action="append", metavar="VERSION", help="`newest` or a number")
    parser.add_argument("program", nargs="*", help="which programs; all if none is named")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    names = programs(arguments.program)
    releases = arguments.sdk or RELEASES

    counts, installed = collections.Counter(), 0
    for release in releases:
        results, good = run_release(release, names, arguments)
        installed += good
        counts.update(x.state for x in results.values())
        if not good:
            say(f"!!! NOT RUN: {next(iter(results.values())).reason}")
    if counts["not run"]:
        say(f"!!! {counts['not run']} of {counts.total()} PROGRAMS DID NOT RUN")
    last = f"{counts['passed']} passed, {counts['failed']} failed"
    say(last + (f", {counts['not run']} skipped" if counts["not run"] else ""))
    if counts["failed"]:
        return 1
    if not installed:
        return NOT_INSTALLED
    return 1 if counts["not run"] else 0


if __name__ == "__main__":
    sys.exit(main())
